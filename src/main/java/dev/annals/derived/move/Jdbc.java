package dev.annals.derived.move;

import dev.annals.kernel.database.Binds;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;

/** Runs statements with one row. */
final class Jdbc {

    private Jdbc() {}

    interface Mapping<T extends @Nullable Object> {
        T of(ResultSet row) throws SQLException;
    }

    static <T extends @Nullable Object> T one(Binds statement, Connection connection, Mapping<T> mapping)
            throws SQLException {
        try (PreparedStatement prepared = statement.prepare(connection);
                ResultSet rows = prepared.executeQuery()) {
            if (!rows.next()) {
                throw new SQLException(statement.statement() + " returned no row");
            }
            return mapping.of(rows);
        }
    }

    static long number(Binds statement, Connection connection, String column) throws SQLException {
        return one(statement, connection, row -> row.getLong(column));
    }

    static String text(Binds statement, Connection connection, String column) throws SQLException {
        return one(statement, connection, row -> row.getString(column));
    }

    /** Ignores the row. */
    static void run(Binds statement, Connection connection) throws SQLException {
        one(statement, connection, row -> true);
    }

    interface Work<T> {
        T run() throws SQLException;
    }

    /**
     * Runs work in a transaction of each of these connections, which commit one after the other.
     *
     * @throws SQLException why the work failed; the end of its transactions may fail after that, and says less
     */
    static <T> T inTransaction(Work<T> work, Connection... connections) throws SQLException {
        try {
            for (Connection connection : connections) {
                connection.setAutoCommit(false);
            }
            T done = work.run();
            for (Connection connection : connections) {
                connection.commit();
                connection.setAutoCommit(true);
            }
            return done;
        } catch (SQLException | RuntimeException e) {
            for (Connection connection : connections) {
                try {
                    if (!connection.getAutoCommit()) {
                        connection.rollback();
                        connection.setAutoCommit(true);
                    }
                } catch (SQLException ended) {
                    e.addSuppressed(ended);
                }
            }
            throw e;
        }
    }

    static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
