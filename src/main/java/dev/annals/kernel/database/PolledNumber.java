package dev.annals.kernel.database;

import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.mutiny.sqlclient.Pool;
import java.time.Duration;
import org.jboss.logging.Logger;

/** A number that is read from the database at an interval. One query runs at a time. */
public final class PolledNumber {

    private static final Logger LOG = Logger.getLogger(PolledNumber.class);

    private final Sql question;
    private final Pool pool;
    private final Vertx vertx;
    private volatile double last;
    private volatile boolean looking;
    private volatile long timer;

    /** @param question a query for one row with one column, the number */
    public PolledNumber(Sql question, Pool pool, Vertx vertx) {
        this.question = question;
        this.pool = pool;
        this.vertx = vertx;
    }

    /** The last number; NaN if the database did not answer, 0 before the first query. */
    public double last() {
        return last;
    }

    public void start(Duration interval) {
        timer = vertx.setPeriodic(PeriodicTask.anyPart(interval), interval.toMillis(), tick -> tick());
    }

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

    public Uni<Double> look() {
        return question.execute(pool)
                .map(rows -> rows.iterator().next().getDouble(0))
                .onFailure()
                .invoke(failure -> last = Double.NaN)
                .invoke(found -> last = found);
    }
}
