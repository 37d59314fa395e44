package dev.annals.tools.ops;

import dev.annals.kernel.config.StartSettings;
import dev.annals.kernel.database.DatabaseCheck;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.Members;
import dev.annals.kernel.database.NamedDatabase;
import dev.annals.tools.command.InQuarkus;
import io.quarkus.runtime.annotations.RegisterForReflection;
import jakarta.enterprise.inject.spi.CDI;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.MigrationInfo;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * {@code migrate}: updates a database's schema, and exits. The service then only needs a user that may become {@code
 * annals_service}, with {@code annals.database.migrate-at-start} turned off.
 */
@Command(
        name = "migrate",
        mixinStandardHelpOptions = true,
        description = "Updates the schema of the database in ANNALS_DATABASE_URL, after those of members in"
                + " ANNALS_DATABASES. The user has to own the database and may have to create roles."
                + " Exit code 0: all schemas are up to date.")
@RegisterForReflection
public final class Migrate implements Callable<Integer> {

    @Option(
            names = "--service-user",
            paramLabel = "<role>",
            description = "The login role of the service. It becomes a member of annals_service, which cannot"
                    + " change records or the schema.")
    @Nullable
    String serviceUser;

    @Override
    public Integer call() {
        List<NamedDatabase> databases = NamedDatabase.all(StartSettings.read());
        DatabaseUrl home = databases
                .get(0)
                .url()
                .orElseThrow(() -> new IllegalArgumentException("Name the database in ANNALS_DATABASE_URL. The"
                        + " embedded database is migrated at each start."));
        NamedDatabase.requireUrls(databases);
        DatabaseCheck.requireServer(home);
        System.setProperty("annals.database.migrate-at-start", "true");
        for (String loops : List.of("projection", "alerts", "streams", "retention", "verification")) {
            System.setProperty("annals." + loops + ".enabled", "false");
        }
        InQuarkus.run(() -> finish(databases));
        return 0;
    }

    /** Runs after Quarkus has migrated: members first, home last. */
    @SuppressWarnings("SystemOut") // a command line tool
    private int finish(List<NamedDatabase> databases) throws SQLException {
        Map<String, String> unused = CDI.current().select(Members.class).get().unused();
        if (serviceUser != null) {
            for (NamedDatabase database : databases) {
                if (!unused.containsKey(database.name())) {
                    grantService(database.url().orElseThrow(), serviceUser);
                }
            }
        }
        MigrationInfo current = CDI.current().select(Flyway.class).get().info().current();
        System.out.println("The schema is at version " + (current == null ? "none" : current.getVersion()) + ".");
        unused.forEach((name, reason) ->
                System.err.println("The database " + name + " was not updated: " + reason + " Run this again for it."));
        return unused.isEmpty() ? 0 : 1;
    }

    private static void grantService(DatabaseUrl database, String role) throws SQLException {
        try (Connection connection = database.connect();
                Statement grant = connection.createStatement()) {
            grant.execute("grant annals_service to " + quoted(connection, role));
        }
    }

    private static String quoted(Connection connection, String identifier) throws SQLException {
        try (PreparedStatement quote = connection.prepareStatement("select quote_ident(?) as quoted")) {
            quote.setString(1, identifier);
            try (ResultSet row = quote.executeQuery()) {
                row.next();
                return row.getString("quoted");
            }
        }
    }
}
