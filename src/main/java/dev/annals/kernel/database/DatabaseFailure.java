package dev.annals.kernel.database;

import io.smallrye.mutiny.Uni;
import io.vertx.core.VertxException;
import io.vertx.pgclient.PgException;
import io.vertx.sqlclient.ClosedConnectionException;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.RejectedExecutionException;

/** Tells transient failures of the database from permanent ones. */
public final class DatabaseFailure {

    private static final int READ_RETRIES = 3;
    private static final Duration READ_RETRY_DELAY = Duration.ofMillis(50);
    private static final Duration LONGEST_READ_RETRY_DELAY = Duration.ofMillis(500);

    private DatabaseFailure() {}

    /** Repeats a read after transient failures; fails with {@link DatabaseUnavailableException}. */
    public static <T> Uni<T> retried(Uni<T> read) {
        return told(read.onFailure(DatabaseFailure::isTransient)
                .retry()
                .withBackOff(READ_RETRY_DELAY)
                .atMost(READ_RETRIES));
    }

    /** Like {@link #retried}, until {@code longest} after the first failure, to outlast a change of the primary. */
    public static <T> Uni<T> retriedFor(Duration longest, Uni<T> read) {
        return told(read.onFailure(DatabaseFailure::isTransient)
                .recoverWithUni(first -> again(read, System.nanoTime() + longest.toNanos(), 0, first)));
    }

    private static <T> Uni<T> again(Uni<T> read, long end, int tries, Throwable failure) {
        if (System.nanoTime() - end >= 0) {
            return Uni.createFrom().failure(failure);
        }
        return Uni.createFrom()
                .voidItem()
                .onItem()
                .delayIt()
                .by(backOff(READ_RETRY_DELAY, LONGEST_READ_RETRY_DELAY, tries))
                .chain(() -> read)
                .onFailure(DatabaseFailure::isTransient)
                .recoverWithUni(next -> again(read, end, tries + 1, next));
    }

    private static <T> Uni<T> told(Uni<T> retried) {
        return retried.onFailure(failure ->
                        isTransient(failure) || (failure.getCause() != null && isTransient(failure.getCause())))
                .transform(DatabaseUnavailableException::new);
    }

    /** {@code first} if {@code tries} is 0; doubles with each try. */
    public static Duration backOff(Duration first, Duration longest, int tries) {
        long millis = Math.min(longest.toMillis(), first.toMillis() << Math.min(tries, 16));
        return Duration.ofMillis(Math.max(1, millis));
    }

    public static String advice(Throwable failure) {
        return onlyReads(failure)
                ? "The database that this instance uses is a hot standby, which only reads: send the request to an instance on"
                        + " the primary. If the standby is about to be promoted, try again."
                : "The database cannot be reached, or is overloaded: try again.";
    }

    /** Whether another server might answer the read. */
    public static boolean isOutage(Throwable failure) {
        return failure instanceof DatabaseUnavailableException || isTransient(failure);
    }

    /** Whether this process has closed the pool or its event loops, as it does when it stops or cannot start. */
    public static boolean isEnd(Throwable failure) {
        // A plain Throwable of the client.
        return failure instanceof RejectedExecutionException
                || (!(failure instanceof Exception) && "Pool closed".equals(failure.getMessage()));
    }

    /** Whether a write reached a standby. */
    public static boolean onlyReads(Throwable failure) {
        return failure instanceof PgException error && error.getSqlState().equals("25006");
    }

    /** Whether the statement may succeed a little later. The outcome of a commit is then unknown. */
    public static boolean isTransient(Throwable failure) {
        if (failure instanceof PgException error) {
            // 08: connection. 25006: standby after a failover. 40: serialization failure, deadlock. 53: out of
            // resources.
            // 55P03: lock timeout. 57: stopping, or too slow. While a database is restored: 28: no roles. 3D: no
            // database.
            // 3F, 42P01, 42704, 42883: no tables, types or functions. 42501: no rights to them.
            String state = error.getSqlState();
            return state.startsWith("08")
                    || state.equals("25006")
                    || state.startsWith("40")
                    || state.startsWith("53")
                    || state.equals("55P03")
                    || state.startsWith("57")
                    || state.startsWith("28")
                    || state.startsWith("3D")
                    || state.startsWith("3F")
                    || state.equals("42P01")
                    || state.equals("42501")
                    || state.equals("42704")
                    || state.equals("42883");
        }
        // The client reports a full pool or a closed connection as a plain Throwable.
        return failure instanceof ClosedConnectionException
                || failure instanceof VertxException
                || failure instanceof UnusableSessionException
                || failure instanceof IOException
                || !(failure instanceof Exception || failure instanceof Error);
    }
}
