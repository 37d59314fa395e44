package dev.annals.core.feed;

import dev.annals.kernel.database.PolledNumber;
import dev.annals.kernel.database.Reads;
import dev.annals.kernel.database.Sql;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.mutiny.sqlclient.Pool;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.time.Duration;

/**
 * Measures how long commits wait for the lock of their feed. The gauge is NaN if the database cannot be read. No time limit
 * of the appends ends a transaction that keeps the lock; {@link FeedLockWatchdog} can.
 */
@ApplicationScoped
public class FeedLockWatch {

    /** Short enough to measure several times before a commit that waits for a lock fails. */
    private static final Duration INTERVAL = Duration.ofSeconds(5);

    private final PolledNumber seconds;

    FeedLockWatch(@Reads Pool pool, Vertx vertx, MeterRegistry metrics) {
        this.seconds = new PolledNumber(Sql.named("core/feed/read_lock_wait"), pool, vertx);
        Gauge.builder("annals.feed.lock.wait.seconds", seconds::last)
                .description("How long the longest wait for the lock of a feed has lasted")
                .register(metrics);
    }

    void start(@Observes StartupEvent event) {
        seconds.start(INTERVAL);
    }

    void stop(@Observes ShutdownEvent event) {
        seconds.stop();
    }

    Uni<Double> look() {
        return seconds.look();
    }
}
