package dev.annals.feed;

import dev.annals.config.AnnalsConfig;
import dev.annals.database.Reads;
import dev.annals.database.Sql;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.mutiny.sqlclient.Pool;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import org.jboss.logging.Logger;

/**
 * Watches how long commits wait for the lock of their feed. The gauge {@code annals_feed_lock_wait_seconds} shows the
 * longest wait in any project, 0 if nobody waits, NaN if it cannot be read. A transaction that keeps the lock holds up all
 * appends to its project, and the time limits of those who wait do not end it.
 */
@ApplicationScoped
public class FeedLockWatch {

    private static final Logger LOG = Logger.getLogger(FeedLockWatch.class);
    private static final Sql READ_LOCK_WAIT = Sql.named("read_lock_wait");

    private final Pool pool;
    private final Vertx vertx;
    private final AnnalsConfig config;
    private volatile double seconds;
    private volatile boolean looking;
    private volatile long timer;

    FeedLockWatch(@Reads Pool pool, Vertx vertx, AnnalsConfig config, MeterRegistry metrics) {
        this.pool = pool;
        this.vertx = vertx;
        this.config = config;
        Gauge.builder("annals.feed.lock.wait.seconds", () -> seconds)
                .description("How long the longest wait for the lock of a feed has lasted")
                .register(metrics);
    }

    void start(@Observes StartupEvent event) {
        timer = vertx.setPeriodic(config.database().lockWatchInterval().toMillis(), tick -> tick());
    }

    void stop(@Observes ShutdownEvent event) {
        vertx.cancelTimer(timer);
    }

    private void tick() {
        if (looking) {
            return;
        }
        looking = true;
        look().subscribe().with(found -> looking = false, failure -> {
            looking = false;
            LOG.debug("The wait for locks cannot be read", failure);
        });
    }

    /** Reads the wait now, and updates the gauge. */
    Uni<Double> look() {
        return READ_LOCK_WAIT
                .execute(pool)
                .map(rows -> rows.iterator().next().getDouble("seconds"))
                .onFailure()
                .invoke(failure -> seconds = Double.NaN)
                .invoke(wait -> seconds = wait);
    }
}
