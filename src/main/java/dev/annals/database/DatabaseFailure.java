package dev.annals.database;

import io.vertx.core.VertxException;
import io.vertx.core.impl.NoStackTraceThrowable;
import io.vertx.pgclient.PgException;
import io.vertx.sqlclient.ClosedConnectionException;
import java.net.SocketException;

/** Tells failures of the database that pass from those that stay. */
public final class DatabaseFailure {

    private DatabaseFailure() {}

    /**
     * Whether the same statement may succeed a little later: the connection broke or was not to be had, the server stops
     * or is out of something, or the transaction had to give way to another. What became of a commit is not known then.
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
                || failure instanceof SocketException
                || failure instanceof NoStackTraceThrowable;
    }
}
