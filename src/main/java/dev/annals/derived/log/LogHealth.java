package dev.annals.derived.log;

import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.PerDatabase;
import dev.annals.kernel.database.PolledNumber;
import dev.annals.kernel.database.Sql;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.vertx.core.Vertx;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.time.Duration;
import org.eclipse.microprofile.health.HealthCheck;
import org.eclipse.microprofile.health.HealthCheckResponse;
import org.eclipse.microprofile.health.Readiness;
import org.jboss.logging.Logger;

/**
 * Reports halted logs and failing witnesses, in the health and as the gauge {@code annals_log_halted} (NaN if it cannot be read). The
 * service stays ready: appends and reads do not need logs.
 */
@ApplicationScoped
@Readiness
public class LogHealth implements HealthCheck {

    private static final Logger LOG = Logger.getLogger(LogHealth.class);

    private static final String UNSIGNED =
            "Records are not signed, so their readers can prove nothing. Set ANNALS_LOG_KEY_FILE to a key"
                    + " that annals log keygen has made.";

    /** The usual interval of metrics. */
    private static final Duration WATCH_INTERVAL = Duration.ofSeconds(15);

    private final LogKeys keys;
    private final Witnesses witnesses;
    private final PerDatabase<PolledNumber> halted;

    LogHealth(Databases databases, Vertx vertx, LogKeys keys, Witnesses witnesses, MeterRegistry metrics) {
        this.keys = keys;
        this.witnesses = witnesses;
        this.halted = new PerDatabase<>(databases, database -> {
            PolledNumber count = new PolledNumber(Sql.named("derived/log/count_halted_logs"), database.polls(), vertx);
            Gauge.builder("annals.log.halted", count::last)
                    .description("Logs that are not signed until an operator has looked at them")
                    .tag("database", database.name())
                    .register(metrics);
            return count;
        });
    }

    // The use of the bean creates the keys, or stops the start if they cannot be read.
    void start(@Observes StartupEvent event) {
        if (!keys.any()) {
            LOG.warn(UNSIGNED);
        }
        halted.all().forEach(count -> count.start(WATCH_INTERVAL));
    }

    void stop(@Observes ShutdownEvent event) {
        halted.all().forEach(PolledNumber::stop);
    }

    @Override
    public HealthCheckResponse call() {
        // NaN if one of them is.
        double count = halted.all().stream().mapToDouble(PolledNumber::last).sum();
        var answer = HealthCheckResponse.named("Logs").up().withData("signed", keys.any());
        if (!keys.any()) {
            answer = answer.withData("missing", UNSIGNED);
        }
        if (witnesses.any()) {
            answer = answer.withData("witnesses_failing", String.join(", ", witnesses.failing()));
        }
        return (Double.isNaN(count) ? answer.withData("halted", "unknown") : answer.withData("halted", (long) count))
                .build();
    }
}
