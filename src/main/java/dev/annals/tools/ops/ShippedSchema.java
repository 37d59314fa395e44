package dev.annals.tools.ops;

import dev.annals.kernel.database.Sql;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * Compares the schema of a database with the schema of this version: tables, columns, constraints, indexes, triggers, functions and
 * privileges. They hold the guarantees of feeds. A disabled trigger would break these unnoticed.
 */
final class ShippedSchema {

    private static final Sql READ_SCHEMA = Sql.named("tools/ops/read_schema");
    private static final String SHIPPED = "/sql/tools/ops/schema.txt";

    private ShippedSchema() {}

    /** The differences, each in a sentence. */
    static List<String> differences(Connection connection) throws SQLException {
        Set<String> shipped = shipped();
        List<String> differences = new ArrayList<>();
        Set<String> found = new LinkedHashSet<>(read(connection));
        shipped.stream()
                .filter(thing -> !found.contains(thing))
                .forEach(thing -> differences.add("this version ships: " + thing));
        found.stream()
                .filter(thing -> !shipped.contains(thing))
                .forEach(thing -> differences.add("this version does not ship: " + thing));
        StaleCollation.find(connection).stream()
                .filter(stale -> stale.index() != null)
                .forEach(stale -> differences.add(stale + ": reindex schema annals"));
        return differences;
    }

    /** The database's schema, one line for each object. */
    static List<String> read(Connection connection) throws SQLException {
        List<String> things = new ArrayList<>();
        try (PreparedStatement select = connection.prepareStatement(READ_SCHEMA.text());
                ResultSet rows = select.executeQuery()) {
            while (rows.next()) {
                things.add(rows.getString("thing"));
            }
        }
        return things;
    }

    private static Set<String> shipped() {
        try (InputStream file = Objects.requireNonNull(ShippedSchema.class.getResourceAsStream(SHIPPED), SHIPPED)) {
            return new LinkedHashSet<>(new String(file.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .toList());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
