package dev.annals.tools.ops;

import dev.annals.kernel.config.StartSettings;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.NamedDatabase;
import dev.annals.tools.embedded.DatabaseDump;
import dev.annals.tools.embedded.EmbeddedDatabase;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.concurrent.Callable;
import org.eclipse.microprofile.config.Config;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code dump}: backs up the embedded database while the service runs. */
@Command(
        name = "dump",
        mixinStandardHelpOptions = true,
        description = "Copies the embedded database in ANNALS_DATA_DIR into a file, while the service runs or not. Exit"
                + " code 0: the file is complete and on disk. It contains neither the key of the logs nor that of the streams. For a database of your"
                + " own use pg_dump.")
@RegisterForReflection
@SuppressWarnings("SystemOut") // a command line tool
public final class Dump implements Callable<Integer> {

    private static final DateTimeFormatter NAME =
            DateTimeFormatter.ofPattern("'annals-'uuuuMMdd'T'HHmmss'Z.tar.gz'").withZone(ZoneOffset.UTC);
    private static final int STEP_PERCENT = 10;

    @Parameters(
            paramLabel = "FILE|DIR",
            description = "The file to write, or a directory for a file that is named for the time.")
    Path target = Path.of(".");

    private int told;

    @Override
    public Integer call() throws IOException {
        Config config = StartSettings.read();
        requireOwnDatabase(config, "pg_dump");
        OperatedDatabase.logOnlyErrors();
        Path file = Files.isDirectory(target) ? target.resolve(NAME.format(Instant.now())) : target;
        Path directory = EmbeddedDatabase.configuredDirectory(config);
        long size = DatabaseDump.write(directory, file, this::tell);
        System.out.println("The dump " + file + " is complete: " + ((size + (1 << 20) - 1) >> 20)
                + " MB. annals restore restores it. It contains no keys: keep copies of log-key and streams-key in "
                + directory
                + " apart from it.");
        return 0;
    }

    /** @throws IllegalArgumentException if a database is configured; PostgreSQL's own programs are for that */
    static void requireOwnDatabase(Config config, String program) {
        if (NamedDatabase.all(config).size() > 1) {
            throw new IllegalArgumentException(
                    "ANNALS_DATABASES names several databases, and this command is for one:"
                            + " back up each with PostgreSQL's own programs, or copy ANNALS_DATA_DIR while the service is stopped.");
        }
        if (DatabaseUrl.configured(config).isPresent()) {
            throw new IllegalArgumentException(
                    "ANNALS_DATABASE_URL names a database, but this command is for the embedded one: use " + program
                            + ", as docs/operating.md shows, or unset it.");
        }
    }

    private void tell(int percent) {
        if (percent / STEP_PERCENT > told / STEP_PERCENT) {
            told = percent;
            System.err.println(percent + " % are copied");
        }
    }
}
