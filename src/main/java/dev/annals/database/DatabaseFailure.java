package dev.annals.database;

import io.smallrye.mutiny.Uni;
import io.vertx.core.VertxException;
import io.vertx.core.impl.NoStackTraceThrowable;
import io.vertx.pgclient.PgException;
import io.vertx.sqlclient.ClosedConnectionException;
import java.io.IOException;
import java.time.Duration;

/** Tells failures of the database that pass from those that stay. */
public final class DatabaseFailure {

    private static final int READ_RETRIES = 3;
    private static final Duration READ_RETRY_DELAY = Duration.ofMillis(50);

    private DatabaseFailure() {}

    /**
     * A read that is tried again after a passing failure: reads may be repeated at will, and a broken connection need not
     * reach the client. Fails with {@link DatabaseUnavailableException} where that does not help.
     */
    public static <T> Uni<T> retried(Uni<T> read) {
        return read.onFailure(DatabaseFailure::isTransient)
                .retry()
                .withBackOff(READ_RETRY_DELAY)
                .atMost(READ_RETRIES)
                .onFailure(failure ->
                        isTransient(failure) || (failure.getCause() != null && isTransient(failure.getCause())))
                .transform(DatabaseUnavailableException::new);
    }

    /**
     * How long to wait before something is tried again: twice as long from try to try, up to the longest.
     *
     * @param tries how many have waited before; 0 for the first that does
     */
    public static Duration backOff(Duration first, Duration longest, int tries) {
        long millis = Math.min(longest.toMillis(), first.toMillis() << Math.min(tries, 16));
        return Duration.ofMillis(Math.max(1, millis));
    }

    /**
     * Whether a statement that failed so may succeed a little later: the connection broke or was not to be had, the server
     * stops or is out of something, or the transaction had to give way to another. What became of a commit is not known
     * then.
     */
    public static boolean isTransient(Throwable failure) {
        if (failure instanceof PgException error) {
            // 08: connection. 25006: a failover left us on a standby. 40: serialization failure, deadlock.
            // 53: out of resources. 55P03: the lock was not to be had in time. 57: stopping, or too slow.
            String state = error.getSqlState();
            return state.startsWith("08")
                    || state.equals("25006")
                    || state.startsWith("40")
                    || state.startsWith("53")
                    || state.equals("55P03")
                    || state.startsWith("57");
        }
        // The client has no type of its own for a full pool.
        return failure instanceof ClosedConnectionException
                || failure instanceof VertxException
                || failure instanceof IOException
                || failure instanceof NoStackTraceThrowable;
    }
}
