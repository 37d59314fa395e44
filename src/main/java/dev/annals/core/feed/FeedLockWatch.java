package dev.annals.core.feed;

import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.PerDatabase;
import dev.annals.kernel.database.PolledNumber;
import dev.annals.kernel.database.Sql;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
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

    private final PerDatabase<PolledNumber> seconds;

    FeedLockWatch(Databases databases, Vertx vertx, MeterRegistry metrics) {
        this.seconds = new PerDatabase<>(databases, database -> {
            PolledNumber wait = new PolledNumber(Sql.named("core/feed/read_lock_wait"), database.polls(), vertx);
            Gauge.builder("annals.feed.lock.wait.seconds", wait::last)
                    .description("How long the longest wait for the lock of a feed has lasted")
                    .tag("database", database.name())
                    .register(metrics);
            return wait;
        });
    }

    void start(@Observes StartupEvent event) {
        seconds.all().forEach(wait -> wait.start(INTERVAL));
    }

    void stop(@Observes ShutdownEvent event) {
        seconds.all().forEach(PolledNumber::stop);
    }

    Uni<Double> look(Database database) {
        return seconds.of(database).look();
    }
}
