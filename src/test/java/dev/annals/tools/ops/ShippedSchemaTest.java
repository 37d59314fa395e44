package dev.annals.tools.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.embedded.TestDatabase;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.Test;

/** {@code verify} compares a schema with the result of the migrations. {@code -Dschema.write=true} writes it. */
@BesideTheService
class ShippedSchemaTest {

    private static final Path SHIPPED = Path.of("src/main/resources/sql/tools/ops/schema.txt");

    @Test
    void theShippedSchemaIsThatOfTheMigrations() throws Exception {
        DatabaseUrl database = TestDatabase.createMigratedDatabase();
        List<String> found;
        try (Connection connection = database.connect();
                Statement set = connection.createStatement()) {
            set.execute("set search_path = pg_catalog");
            set.execute("set timezone = 'UTC'");
            found = ShippedSchema.read(connection);
        }
        if (Boolean.getBoolean("schema.write")) {
            Files.write(SHIPPED, found);
        }
        assertThat(Files.readAllLines(SHIPPED)).isEqualTo(found);
    }

    @Test
    void noIndexHasAnOrderThatChangesWithTheServersLibraries() throws Exception {
        assertThat(
                        SqlFixture.on(TestDatabase.createMigratedDatabase())
                                .texts(
                                        "select c.relname || ' ' || l.collname from pg_index as i"
                                                + " join pg_class as c on c.oid = i.indexrelid"
                                                + " join pg_collation as l on l.oid = any (i.indcollation::oid[])"
                                                + " where c.relnamespace = 'annals'::regnamespace and l.collname not in ('C', 'POSIX')"))
                .isEmpty();
    }
}
