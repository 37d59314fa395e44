package dev.annals.derived.projection;

import dev.annals.access.places.Places;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.PerDatabase;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.smallrye.mutiny.Uni;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Inject;
import java.util.List;
import java.util.UUID;

/** A {@link Projector} for each database. */
@ApplicationScoped
public class Projectors {

    private final Places places;
    private final PerDatabase<Projector> databases;
    private final ProjectionSteps steps;

    @Inject
    Projectors(
            Places places, Databases databases, ProjectionSteps steps, ProjectionConfig config, MeterRegistry metrics) {
        this(places, new PerDatabase<>(databases, database -> Projector.of(database, steps, config, metrics)), steps);
    }

    public Projectors(Places places, PerDatabase<Projector> databases, ProjectionSteps steps) {
        this.places = places;
        this.databases = databases;
        this.steps = steps;
    }

    void start(@Observes StartupEvent event) {
        databases.all().forEach(Projector::start);
    }

    void stop(@Observes ShutdownEvent event) {
        databases.all().forEach(Projector::stop);
    }

    List<String> names() {
        return steps.projections().stream().map(Projection::name).toList();
    }

    /** As {@link Projector#failing}, in all databases. */
    long failing(String projection) {
        return databases.all().stream()
                .mapToLong(projector -> projector.failing(projection))
                .sum();
    }

    /**
     * Runs a bounded number of steps. Does nothing if this instance runs no projections, if another instance works on the project, or
     * during a back-off. Never fails.
     */
    public Uni<Void> advance(String name, UUID projectId) {
        return databases.of(places.of(projectId)).advance(name, projectId);
    }
}
