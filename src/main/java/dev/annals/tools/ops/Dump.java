package dev.annals.tools.ops;

import dev.annals.kernel.config.StartSettings;
import dev.annals.kernel.database.DatabaseUrl;
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

/** {@code dump}: a backup of the service's own database, while it serves. */
@Command(
        name = "dump",
        mixinStandardHelpOptions = true,
        description =
                "Copies the service's own database in ANNALS_DATA_DIR into a file, while the service runs or not. Exit"
                        + " code 0: the file is complete and on disk. The key of the logs is not in it. For a database of your own use"
                        + " pg_dump.")
@RegisterForReflection
@SuppressWarnings("SystemOut") // a command line tool
public final class Dump implements Callable<Integer> {

    private static final DateTimeFormatter NAME =
            DateTimeFormatter.ofPattern("'annals-'uuuuMMdd'T'HHmmss'Z.tar.gz'").withZone(ZoneOffset.UTC);
    private static final int STEP_PERCENT = 10;

    @Parameters(
            paramLabel = "FILE|DIR",
            description = "The file to make, or a directory in which one is made that is named for the time.")
    Path target = Path.of(".");

    private int told;

    @Override
    public Integer call() throws IOException {
        Config config = StartSettings.read();
        requireOwnDatabase(config, "pg_dump");
        OperatedDatabase.logOnlyErrors();
        Path file = Files.isDirectory(target) ? target.resolve(NAME.format(Instant.now())) : target;
        long size = DatabaseDump.write(EmbeddedDatabase.configuredDirectory(config), file, this::tell);
        System.out.println("The dump " + file + " is complete: " + ((size + (1 << 20) - 1) >> 20)
                + " MB. annals restore puts it back. Keep the log-key apart from it.");
        return 0;
    }

    /** @throws IllegalArgumentException if a database is named, which PostgreSQL's own programs are for */
    static void requireOwnDatabase(Config config, String program) {
        if (DatabaseUrl.configured(config).isPresent()) {
            throw new IllegalArgumentException(
                    "ANNALS_DATABASE_URL names a database, and this is for the service's own: use " + program
                            + ", as docs/operating.md says, or unset it.");
        }
    }

    private void tell(int percent) {
        if (percent / STEP_PERCENT > told / STEP_PERCENT) {
            told = percent;
            System.err.println(percent + " % are copied");
        }
    }
}
