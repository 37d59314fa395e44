package dev.annals.derived.projection;

import org.eclipse.microprofile.health.HealthCheck;
import org.eclipse.microprofile.health.HealthCheckResponse;
import org.eclipse.microprofile.health.HealthCheckResponseBuilder;
import org.eclipse.microprofile.health.Readiness;

/** Reports projections that fail. The service stays ready: appends and reads do not need them. */
@Readiness
class ProjectionHealth implements HealthCheck {

    private final Projectors projectors;

    ProjectionHealth(Projectors projectors) {
        this.projectors = projectors;
    }

    @Override
    public HealthCheckResponse call() {
        HealthCheckResponseBuilder response =
                HealthCheckResponse.named("Projections").up();
        projectors.names().forEach(name -> response.withData(name + " fails in projects", projectors.failing(name)));
        return response.build();
    }
}
