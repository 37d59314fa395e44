package dev.annals;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.Optional;

/**
 * Connections that were used for a query, for the next one. A test asks again and again, and a new session learns everything
 * about the schema anew, which takes longer than most answers. What changes anything has a connection of its own.
 */
final class KeptConnections {

    /** Each database of its own keeps one until others need its place: a server has a hundred. */
    private static final int MOST = 8;

    private static final Deque<Kept> KEPT = new ArrayDeque<>();

    private KeptConnections() {}

    private record Kept(String url, Connection connection) {}

    /** One that nobody uses. */
    static synchronized Optional<Connection> take(String url) {
        for (Iterator<Kept> all = KEPT.iterator(); all.hasNext(); ) {
            Kept kept = all.next();
            if (kept.url().equals(url)) {
                all.remove();
                return Optional.of(kept.connection());
            }
        }
        return Optional.empty();
    }

    /** Keeps it, outside of any transaction, in place of the one that was used longest ago. */
    static synchronized void keep(String url, Connection connection) throws SQLException {
        KEPT.addFirst(new Kept(url, connection));
        if (KEPT.size() > MOST) {
            KEPT.removeLast().connection().close();
        }
    }

    /** Ends those to a database. */
    static synchronized void end(String url) throws SQLException {
        for (Optional<Connection> kept = take(url); kept.isPresent(); kept = take(url)) {
            kept.get().close();
        }
    }

    /** Whether a query failed because the other side had ended the connection, by itself or by a crash. */
    static boolean isGone(SQLException failure) {
        String state = failure.getSQLState();
        return state != null && (state.startsWith("08") || state.startsWith("57P"));
    }
}
