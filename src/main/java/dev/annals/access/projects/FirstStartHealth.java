package dev.annals.access.projects;

import org.eclipse.microprofile.health.HealthCheck;
import org.eclipse.microprofile.health.HealthCheckResponse;
import org.eclipse.microprofile.health.Readiness;

/** The service is ready once the first tokens are in their file, or none are made. */
@Readiness
class FirstStartHealth implements HealthCheck {

    private final FirstStart start;

    FirstStartHealth(FirstStart start) {
        this.start = start;
    }

    @Override
    public HealthCheckResponse call() {
        return HealthCheckResponse.named("First tokens").status(start.isDone()).build();
    }
}
