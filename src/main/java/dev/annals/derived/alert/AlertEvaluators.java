package dev.annals.derived.alert;

import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.PerDatabase;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.vertx.core.Vertx;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;

/** An {@link AlertEvaluator} for each database. */
@ApplicationScoped
class AlertEvaluators {

    private final PerDatabase<AlertEvaluator> databases;

    AlertEvaluators(Databases databases, AlertConfig config, MeterRegistry metrics) {
        this.databases = new PerDatabase<>(databases, database -> new AlertEvaluator(database, config, metrics));
    }

    void start(@Observes StartupEvent event, Vertx vertx) {
        databases.all().forEach(evaluator -> evaluator.start(vertx));
    }

    void stop(@Observes ShutdownEvent event) {
        databases.all().forEach(AlertEvaluator::stop);
    }
}
