package dev.annals.tools.ops;

import dev.annals.kernel.config.StartSettings;
import dev.annals.tools.embedded.DatabaseRestore;
import dev.annals.tools.embedded.EmbeddedDatabase;
import dev.annals.tools.embedded.RunningDatabase;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.Callable;
import org.eclipse.microprofile.config.Config;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code restore}: restores a dump of the embedded database. */
@Command(
        name = "restore",
        mixinStandardHelpOptions = true,
        description =
                "Creates the embedded database from a file of annals dump in ANNALS_DATA_DIR, which has to be empty or"
                        + " missing. Compares every file with its checksum, and the copies of keys that you name with what was made with them."
                        + " Exit code 0: everything is restored; 1: nothing is, or a key does not fit, which the message says.")
@RegisterForReflection
@SuppressWarnings("SystemOut") // a command line tool
public final class Restore implements Callable<Integer> {

    @Parameters(paramLabel = "FILE", description = "The dump.")
    Path file = Path.of("");

    @Option(
            names = "--log-key",
            paramLabel = "<file>",
            defaultValue = "${env:ANNALS_LOG_KEY_FILE}",
            description = "Your copy of the key of the logs. Default: ANNALS_LOG_KEY_FILE.")
    @Nullable
    Path logKey;

    @Option(
            names = "--streams-key",
            paramLabel = "<file>",
            defaultValue = "${env:ANNALS_STREAMS_KEY_FILE}",
            description = "Your copy of the key of the streams. Default: ANNALS_STREAMS_KEY_FILE.")
    @Nullable
    Path streamsKey;

    @Override
    public Integer call() throws IOException {
        Config config = StartSettings.read();
        Dump.requireOwnDatabase(config, "pg_restore");
        OperatedDatabase.logOnlyErrors();
        Path directory = EmbeddedDatabase.configuredDirectory(config);
        int files;
        try {
            files = DatabaseRestore.read(file, directory);
        } catch (NoSuchFileException e) {
            throw new IllegalArgumentException("There is no file " + e.getFile() + ".", e);
        }
        System.out.println(
                files + " files are restored in " + directory + ". Logs that readers verify stay halted until you"
                        + " decide, once their key exists: annals log resume if nothing was recorded after the dump, otherwise annals"
                        + " log next-epoch.");
        try (RunningDatabase database = RunningDatabase.in(directory);
                Connection connection = database.url().connect()) {
            KeyCopies.Fit logs = KeyCopies.logs(connection, logKey == null ? null : KeyCopies.readLogKey(logKey));
            KeyCopies.Fit streams = KeyCopies.streams(connection, streamsKey);
            boolean signs = fits(logs, "signed logs", logKey, directory.resolve("log-key"));
            boolean opens = fits(streams, "streams with a secret", streamsKey, directory.resolve("streams-key"));
            return signs && opens ? 0 : 1;
        } catch (SQLException e) {
            throw new IllegalArgumentException(
                    "The database is restored, and its keys cannot be checked: " + e.getMessage(), e);
        }
    }

    /** Tells what a key is needed for, and returns false if the named one is another. */
    private static boolean fits(KeyCopies.Fit fit, String things, @Nullable Path copy, Path place) {
        if (fit.things() == 0) {
            return true;
        }
        if (copy == null) {
            System.out.println("The key of " + fit.things() + " " + things + " is missing. Put your copy at " + place
                    + " before the service starts, which otherwise makes another key.");
            return true;
        }
        if (fit.unopened() > 0) {
            System.err.println("The key " + copy + " is not that of " + fit.unopened() + " of " + fit.things() + " "
                    + things + ", such as " + fit.first() + ". Look for another copy.");
            return false;
        }
        System.out.println("The key " + copy + " is that of all " + fit.things() + " " + things + ". Put it at " + place
                + ", or name it in the settings, before the service starts.");
        return true;
    }
}
