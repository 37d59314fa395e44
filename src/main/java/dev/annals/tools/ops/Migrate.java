package dev.annals.tools.ops;

import dev.annals.kernel.config.StartSettings;
import dev.annals.kernel.database.DatabaseCheck;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.command.InQuarkus;
import io.quarkus.runtime.annotations.RegisterForReflection;
import jakarta.enterprise.inject.spi.CDI;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
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
        description =
                "Updates the schema of the database in ANNALS_DATABASE_URL. The user has to own the database and may"
                        + " have to create roles. Exit code 0: the schema is up to date.")
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
        DatabaseUrl database = DatabaseUrl.configured(StartSettings.read())
                .orElseThrow(() -> new IllegalArgumentException("Name the database in ANNALS_DATABASE_URL. The"
                        + " embedded database is migrated at each start."));
        DatabaseCheck.requireServer(database);
        System.setProperty("annals.database.migrate-at-start", "true");
        InQuarkus.run(() -> finish(database));
        return 0;
    }

    /** Runs after Quarkus has migrated. */
    @SuppressWarnings("SystemOut") // a command line tool
    private int finish(DatabaseUrl database) throws SQLException {
        if (serviceUser != null) {
            grantService(database, serviceUser);
        }
        MigrationInfo current = CDI.current().select(Flyway.class).get().info().current();
        System.out.println("The schema is at version " + (current == null ? "none" : current.getVersion()) + ".");
        return 0;
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
