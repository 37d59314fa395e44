package dev.annals.tools.ops;

import dev.annals.derived.log.KeyFile;
import dev.annals.derived.proof.MasterKey;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.Sql;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code log}: manages the logs that readers verify. */
@Command(
        name = "log",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {LogCommand.Keygen.class, LogCommand.Resume.class, LogCommand.NextEpoch.class},
        description = "Creates the key of the logs that readers verify, and continues halted logs.")
@RegisterForReflection
@SuppressWarnings("SystemOut") // a command line tool
public final class LogCommand {

    private static final Sql RESUME_LOG = Sql.named("tools/ops/resume_log");
    private static final Sql END_LOG = Sql.named("tools/ops/end_log");
    private static final Sql FORGET_TREE = Sql.named("tools/ops/forget_tree");

    /** {@code log keygen}: creates a key. */
    @Command(
            name = "keygen",
            mixinStandardHelpOptions = true,
            description =
                    "Creates the secret from which the keys of all logs are derived, in a new file that only its owner"
                            + " can read. Set ANNALS_LOG_KEY_FILE of the service to this file.")
    @RegisterForReflection
    static final class Keygen implements Callable<Integer> {

        @Parameters(paramLabel = "<file>", description = "The file to write; it must not exist.")
        Path file = Path.of("log-key");

        @Override
        public Integer call() throws IOException {
            try {
                KeyFile.write(file, MasterKey.draw());
            } catch (FileAlreadyExistsException e) {
                throw new IllegalArgumentException(
                        file + " exists already, and a key is never overwritten. Name another file.", e);
            }
            System.out.println("The new key is in " + file
                    + ". Set ANNALS_LOG_KEY_FILE to it, and keep a copy apart from copies of"
                    + " the database: both together allow forging what readers verify.");
            return 0;
        }
    }

    /** {@code log resume}: continues a halted log. */
    @Command(
            name = "resume",
            mixinStandardHelpOptions = true,
            description =
                    "Signs halted logs again, once the cause is gone: after a planned promotion or move, or when the"
                            + " records are restored. If the cause is still there, the service halts the log again. Needs"
                            + " the database's owner.")
    @RegisterForReflection
    static final class Resume implements Callable<Integer> {

        @Option(
                names = "--project",
                paramLabel = "<project>",
                description = "Only the log of this project, by its name or id. Default: all halted logs.")
        @Nullable
        String project;

        @Override
        public Integer call() {
            return operate(project, database -> resume(database, project));
        }
    }

    /** {@code log next-epoch}: ends a log that cannot continue, and begins another one. */
    @Command(
            name = "next-epoch",
            mixinStandardHelpOptions = true,
            description =
                    "Ends a log that cannot continue as it was signed, and begins the next one, with a name and a key of its own"
                            + " that readers have to accept. The last checkpoint can still be read. Needs the database's owner.")
    @RegisterForReflection
    static final class NextEpoch implements Callable<Integer> {

        @Option(
                names = "--project",
                paramLabel = "<project>",
                required = true,
                description = "The project of the log, by its name or id.")
        String project = "";

        @Option(
                names = "--anew",
                description =
                        "Build the tree anew from the records as they are now, after records or tiles were changed.")
        boolean anew;

        @Option(
                names = "--reason",
                paramLabel = "<text>",
                description = "The reason for readers, if the log is not halted. Default: ${DEFAULT-VALUE}.")
        String reason = "ended by an operator";

        @Override
        public Integer call() {
            return operate(project, database -> nextEpoch(database, project, anew, reason));
        }
    }

    /** @param project null for each database */
    private static int operate(@Nullable String project, OperatedDatabase.Work work) {
        try {
            return OperatedDatabase.runAll(databases -> {
                UUID id = project == null || databases.size() == 1 ? null : find(databases, project);
                int code = 1;
                for (DatabaseUrl database : databases.values()) {
                    if (id == null || isHere(database, id)) {
                        code = Math.min(code, work.run(database));
                    }
                }
                return code;
            });
        } catch (SQLException e) {
            throw new IllegalArgumentException(
                    "The log cannot be changed: " + e.getMessage()
                            + ". Connect as the owner of the schema, after annals migrate.",
                    e);
        }
    }

    private static UUID find(Map<String, DatabaseUrl> databases, String project) throws SQLException {
        try (Connection home = databases.values().iterator().next().connect()) {
            return Verify.find(home, project);
        }
    }

    private static boolean isHere(DatabaseUrl database, UUID project) throws SQLException {
        try (Connection connection = database.connect()) {
            return Placements.isHere(connection, project);
        }
    }

    /** Returns the exit code. */
    static int resume(DatabaseUrl database, @Nullable String project) throws SQLException {
        try (Connection connection = database.connect();
                PreparedStatement resume = RESUME_LOG
                        .bind("project_id", project == null ? null : Verify.find(connection, project))
                        .prepare(connection);
                ResultSet row = resume.executeQuery()) {
            if (!row.next()) {
                System.err.println(
                        project == null
                                ? "No log is halted."
                                : "The log of " + project + " is not halted, or does not exist.");
                return 1;
            }
            do {
                System.out.println("The log of " + row.getString("name") + " continues. It was halted because "
                        + row.getString("halted") + ".");
            } while (row.next());
            return 0;
        }
    }

    /** Returns the exit code. */
    static int nextEpoch(DatabaseUrl database, String named, boolean anew, String reason) throws SQLException {
        try (Connection connection = database.connect()) {
            connection.setAutoCommit(false);
            UUID project = Verify.find(connection, named);
            if (anew) {
                // First, because the projection locks in this order.
                try (PreparedStatement forget =
                        FORGET_TREE.bind("project_id", project).prepare(connection)) {
                    forget.executeUpdate();
                }
            }
            try (PreparedStatement end = END_LOG.bind("project_id", project)
                            .bind("reason", reason)
                            .prepare(connection);
                    ResultSet row = end.executeQuery()) {
                if (!row.next()) {
                    System.err.println("The project " + named + " has no log.");
                    return 1;
                }
                System.out.println(
                        "The log of " + named + " has ended. Epoch " + row.getInt("epoch")
                                + " begins with its next checkpoint; tell its readers, who need its key: GET /v1/project-logs/log");
            }
            connection.commit();
            return 0;
        }
    }
}
