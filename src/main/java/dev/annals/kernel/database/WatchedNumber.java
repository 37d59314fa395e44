package dev.annals.kernel.database;

import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.mutiny.sqlclient.Pool;
import java.time.Duration;
import org.jboss.logging.Logger;

/**
 * A number that the database is asked for again and again, and that is kept for gauges and health checks. One question is
 * under way at a time.
 */
public final class WatchedNumber {

    private static final Logger LOG = Logger.getLogger(WatchedNumber.class);

    private final Sql question;
    private final Pool pool;
    private final Vertx vertx;
    private volatile double last;
    private volatile boolean looking;
    private volatile long timer;

    /** @param question answers one row of one column, the number */
    public WatchedNumber(Sql question, Pool pool, Vertx vertx) {
        this.question = question;
        this.pool = pool;
        this.vertx = vertx;
    }

    /** The number when the database was last asked; NaN if it did not answer, and 0 before. */
    public double last() {
        return last;
    }

    /** Asks from now on, once per interval. */
    public void start(Duration interval) {
        timer = vertx.setPeriodic(interval.toMillis(), tick -> tick());
    }

    /** Asks no more. */
    public void stop() {
        vertx.cancelTimer(timer);
    }

    private void tick() {
        if (looking) {
            return;
        }
        looking = true;
        look().subscribe().with(found -> looking = false, failure -> {
            looking = false;
            LOG.debugf(failure, "%s has no answer", question);
        });
    }

    /** Asks now. */
    public Uni<Double> look() {
        return question.execute(pool)
                .map(rows -> rows.iterator().next().getDouble(0))
                .onFailure()
                .invoke(failure -> last = Double.NaN)
                .invoke(found -> last = found);
    }
}
