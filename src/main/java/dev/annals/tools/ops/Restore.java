package dev.annals.tools.ops;

import dev.annals.kernel.config.StartSettings;
import dev.annals.tools.embedded.DatabaseRestore;
import dev.annals.tools.embedded.EmbeddedDatabase;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.eclipse.microprofile.config.Config;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code restore}: restores a dump of the embedded database. */
@Command(
        name = "restore",
        mixinStandardHelpOptions = true,
        description =
                "Creates the embedded database from a file of annals dump in ANNALS_DATA_DIR, which has to be empty or"
                        + " missing. Compares every file with its checksum. Exit code 0: everything is restored; otherwise"
                        + " nothing is.")
@RegisterForReflection
@SuppressWarnings("SystemOut") // a command line tool
public final class Restore implements Callable<Integer> {

    @Parameters(paramLabel = "FILE", description = "The dump.")
    Path file = Path.of("");

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
        return 0;
    }
}
