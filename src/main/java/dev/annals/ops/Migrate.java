package dev.annals.ops;

import dev.annals.database.DatabaseUrl;
import io.quarkus.arc.Unremovable;
import io.quarkus.runtime.QuarkusApplication;
import io.quarkus.runtime.annotations.RegisterForReflection;
import jakarta.enterprise.context.Dependent;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.eclipse.microprofile.config.Config;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.MigrationInfo;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/**
 * {@code migrate}: brings a database's schema up to date and ends. With it the instances that serve need no more than a
 * user that may become {@code annals_service}, and {@code annals.database.migrate-at-start} off.
 */
@Dependent
@Unremovable
@SuppressWarnings("SystemOut") // a command line tool
public class Migrate implements QuarkusApplication {

    /** The first argument of the program that asks for it. */
    public static final String NAME = "migrate";

    private final Flyway flyway;
    private final Config config;

    Migrate(Flyway flyway, Config config) {
        this.flyway = flyway;
        this.config = config;
    }

    /** Its command line. */
    @Command(
            name = NAME,
            mixinStandardHelpOptions = true,
            description =
                    "Brings the schema of the database that ANNALS_DATABASE_URL names up to date, and ends. The user"
                            + " needs to own the database and to create roles. Exit code 0: it is up to date.")
    @RegisterForReflection
    static final class Options {

        @Option(
                names = "--service-user",
                paramLabel = "<role>",
                description = "A role that may log in and shall serve: it becomes a member of annals_service, which can"
                        + " change neither records nor the schema.")
        @Nullable
        String serviceUser;
    }

    /**
     * Checks a command line before anything is started for it.
     *
     * @return whether to go on; not where help was printed
     * @throws ParameterException if the command line is wrong
     */
    public static boolean check(String... arguments) {
        return !CommandLine.printHelpIfRequested(new CommandLine(new Options()).parseArgs(arguments));
    }

    /** Runs once Quarkus has started, and so has migrated. */
    @Override
    public int run(String... arguments) throws SQLException {
        Options options = new Options();
        new CommandLine(options).parseArgs(arguments);
        if (options.serviceUser != null) {
            grantService(options.serviceUser);
        }
        MigrationInfo current = flyway.info().current();
        System.out.println("The schema is at version " + (current == null ? "none" : current.getVersion()) + ".");
        return 0;
    }

    private void grantService(String role) throws SQLException {
        DatabaseUrl database = DatabaseUrl.configured(config)
                .orElseThrow(() -> new IllegalStateException("the database is named at start"));
        try (Connection connection = database.connect();
                Statement grant = connection.createStatement()) {
            grant.execute("grant annals_service to " + quoted(connection, role));
        }
    }

    private static String quoted(Connection connection, String identifier) throws SQLException {
        try (PreparedStatement quote = connection.prepareStatement("select quote_ident(?)")) {
            quote.setString(1, identifier);
            try (ResultSet row = quote.executeQuery()) {
                row.next();
                return row.getString(1);
            }
        }
    }
}
