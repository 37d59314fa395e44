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
import java.util.UUID;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code log}: what an operator does with the logs that readers verify. */
@Command(
        name = "log",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {LogCommand.Keygen.class, LogCommand.Resume.class, LogCommand.NextEpoch.class},
        description = "Makes the key of the logs that readers verify, and lets logs that were halted go on.")
@RegisterForReflection
@SuppressWarnings("SystemOut") // a command line tool
public final class LogCommand {

    private static final Sql RESUME_LOG = Sql.named("tools/ops/resume_log");
    private static final Sql END_LOG = Sql.named("tools/ops/end_log");
    private static final Sql FORGET_TREE = Sql.named("tools/ops/forget_tree");

    /** {@code log keygen}: makes a key. */
    @Command(
            name = "keygen",
            mixinStandardHelpOptions = true,
            description =
                    "Makes a new secret, from which the keys of all logs are derived, in a new file that only its owner"
                            + " can read. ANNALS_LOG_KEY_FILE names it to the service.")
    @RegisterForReflection
    static final class Keygen implements Callable<Integer> {

        @Parameters(paramLabel = "<file>", description = "The file to make; it must not exist.")
        Path file = Path.of("log-key");

        @Override
        public Integer call() throws IOException {
            try {
                KeyFile.write(file, MasterKey.draw());
            } catch (FileAlreadyExistsException e) {
                throw new IllegalArgumentException(
                        file + " exists already, and a key is never overwritten. Name another file.", e);
            }
            System.out.println(
                    "The new key is in " + file + ". Set ANNALS_LOG_KEY_FILE to it, and keep a copy where no copy of"
                            + " the database is: who has both can forge what readers verify.");
            return 0;
        }
    }

    /** {@code log resume}: lets a log go on as it was. */
    @Command(
            name = "resume",
            mixinStandardHelpOptions = true,
            description =
                    "Lets logs that are halted be signed again, once the cause is gone: after a planned promotion or move,"
                            + " or when the records are restored. If the service finds the same cause again, it halts it again. Needs"
                            + " the database's owner.")
    @RegisterForReflection
    static final class Resume implements Callable<Integer> {

        @Option(
                names = "--project",
                paramLabel = "<project>",
                description = "Only the log of this project, by its name or id. Default: all that are halted.")
        @Nullable
        String project;

        @Override
        public Integer call() {
            return operate(database -> resume(database, project));
        }
    }

    /** {@code log next-epoch}: ends a log that cannot go on, and begins another one. */
    @Command(
            name = "next-epoch",
            mixinStandardHelpOptions = true,
            description =
                    "Ends a log that cannot go on as it was signed, and begins the next one: with a name and a key of its own,"
                            + " for which readers have to decide anew. The last checkpoint stays on show. Needs the database's owner.")
    @RegisterForReflection
    static final class NextEpoch implements Callable<Integer> {

        @Option(
                names = "--project",
                paramLabel = "<project>",
                required = true,
                description = "The project whose log it is, by its name or id.")
        String project = "";

        @Option(
                names = "--anew",
                description =
                        "Make the tree anew, of the records as they are now: where records or tiles were changed.")
        boolean anew;

        @Option(
                names = "--reason",
                paramLabel = "<text>",
                description = "Why, for readers, where the log is not halted. Default: ${DEFAULT-VALUE}.")
        String reason = "ended by an operator";

        @Override
        public Integer call() {
            return operate(database -> nextEpoch(database, project, anew, reason));
        }
    }

    private static int operate(OperatedDatabase.Work work) {
        try {
            return OperatedDatabase.run(work);
        } catch (SQLException e) {
            throw new IllegalArgumentException(
                    "The log cannot be changed: " + e.getMessage()
                            + ". It takes the owner of the schema, which annals migrate has brought up to date.",
                    e);
        }
    }

    /** Gives the exit code. */
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
                                : "The log of " + project + " is not halted, or not there.");
                return 1;
            }
            do {
                System.out.println("The log of " + row.getString("name") + " goes on. It was halted because "
                        + row.getString("halted") + ".");
            } while (row.next());
            return 0;
        }
    }

    /** Gives the exit code. */
    static int nextEpoch(DatabaseUrl database, String named, boolean anew, String reason) throws SQLException {
        try (Connection connection = database.connect()) {
            connection.setAutoCommit(false);
            UUID project = Verify.find(connection, named);
            if (anew) {
                // In the order in which the projection locks them.
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
