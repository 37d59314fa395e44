package dev.annals;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.kernel.database.DatabaseUrl;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.postgresql.PGConnection;

/**
 * A pool of connections. A new session has to load the schema's catalogue, which takes longer than most statements. Settings,
 * locks and listens of a session end when it returns to the pool.
 */
final class KeptConnections {

    /** Each database of its own keeps one until others need its place: a server has a hundred. */
    private static final int MOST = 8;

    /** As a new connection of this driver has it: a statement is prepared in the database when it is run for the fifth time. */
    private static final int PREPARED_FROM = 5;

    private static final int ALIVE_LIMIT_SECONDS = 5;

    private static final Deque<Kept> KEPT = new ArrayDeque<>();

    private KeptConnections() {}

    private record Kept(String url, Connection connection) {}

    /** One for the caller alone, kept or new, in which each statement is a transaction. To close it is to give it back. */
    static Connection lend(DatabaseUrl database) throws SQLException {
        String url = database.withPassword();
        for (Optional<Connection> kept = take(url); kept.isPresent(); kept = take(url)) {
            // Servers end connections, too: as tests want it, and with themselves.
            if (kept.get().isValid(ALIVE_LIMIT_SECONDS)) {
                kept.get().setAutoCommit(true);
                kept.get().unwrap(PGConnection.class).setPrepareThreshold(PREPARED_FROM);
                return lent(url, kept.get());
            }
            kept.get().close();
        }
        return lent(url, database.connect());
    }

    private static Connection lent(String url, Connection connection) {
        AtomicBoolean returned = new AtomicBoolean();
        return (Connection) Proxy.newProxyInstance(
                KeptConnections.class.getClassLoader(),
                new Class<?>[] {Connection.class},
                (proxy, method, arguments) -> {
                    switch (method.getName()) {
                        case "close" -> {
                            if (!returned.getAndSet(true)) {
                                giveBack(url, connection);
                            }
                            return null;
                        }
                        case "isClosed" -> {
                            return returned.get() || connection.isClosed();
                        }
                        default -> {
                            assertThat(returned)
                                    .as("a connection that was given back is used")
                                    .isFalse();
                            try {
                                return method.invoke(connection, arguments);
                            } catch (InvocationTargetException e) {
                                throw e.getCause();
                            }
                        }
                    }
                });
    }

    private static void giveBack(String url, Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            if (!connection.getAutoCommit()) {
                connection.rollback();
                connection.setAutoCommit(true);
            }
            statement.execute("discard all");
        } catch (SQLException e) {
            // It is gone, and what its session had with it.
            connection.close();
            return;
        }
        keep(url, connection);
    }

    /** An idle connection. */
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
