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

    static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
