package dev.annals.tools.ops;

import dev.annals.kernel.database.Sql;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A collation whose version was another one when the database, or an index of the schema, was made.
 *
 * @param index it may lack rows; null for the database's own collation
 */
record StaleCollation(
        @Nullable String index,
        String name,
        @Nullable String madeWith,
        @Nullable String now) {

    private static final Sql FIND_STALE_COLLATIONS = Sql.named("tools/ops/find_stale_collations");

    /** Those of indexes first. */
    static List<StaleCollation> find(Connection connection) throws SQLException {
        List<StaleCollation> found = new ArrayList<>();
        try (PreparedStatement select = connection.prepareStatement(FIND_STALE_COLLATIONS.text());
                ResultSet row = select.executeQuery()) {
            while (row.next()) {
                found.add(new StaleCollation(
                        row.getString("index"),
                        row.getString("collation"),
                        row.getString("made_with"),
                        row.getString("now")));
            }
        }
        return found;
    }

    @Override
    public String toString() {
        return (index == null ? "the database" : "index " + index) + " was made with version " + madeWith
                + " of the collation " + name + ", and the server has " + now;
    }
}
