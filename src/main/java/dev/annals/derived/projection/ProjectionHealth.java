package dev.annals.derived.projection;

import org.eclipse.microprofile.health.HealthCheck;
import org.eclipse.microprofile.health.HealthCheckResponse;
import org.eclipse.microprofile.health.HealthCheckResponseBuilder;
import org.eclipse.microprofile.health.Readiness;

/** Reports projections that fail. The service stays ready: appends and reads do not need them. */
@Readiness
class ProjectionHealth implements HealthCheck {

    private final Projector projector;

    ProjectionHealth(Projector projector) {
        this.projector = projector;
    }

    @Override
    public HealthCheckResponse call() {
        HealthCheckResponseBuilder response =
                HealthCheckResponse.named("Projections").up();
        projector.names().forEach(name -> response.withData(name + " fails in projects", projector.failing(name)));
        return response.build();
    }
}
