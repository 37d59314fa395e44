package dev.annals.derived.retention;

import dev.annals.derived.log.LogTree;
import dev.annals.derived.projection.ProjectionSteps;
import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.PerDatabase;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.vertx.core.Vertx;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;

/** A {@link Retention} for each database. */
@ApplicationScoped
class Retentions {

    private final PerDatabase<Retention> databases;

    Retentions(
            Databases databases,
            Vertx vertx,
            ProjectionSteps projections,
            LogTree log,
            RetentionConfig config,
            MeterRegistry metrics) {
        this.databases = new PerDatabase<>(
                databases, database -> new Retention(database, vertx, projections, log, config, metrics));
    }

    void start(@Observes StartupEvent event) {
        databases.all().forEach(Retention::start);
    }

    void stop(@Observes ShutdownEvent event) {
        databases.all().forEach(Retention::stop);
    }

    Retention of(Database database) {
        return databases.of(database);
    }
}
