package dev.annals.log;

import dev.annals.proof.MasterKey;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code log}: what an operator does with the logs that readers verify. */
@Command(
        name = "log",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {LogCommand.Keygen.class},
        description = "Keys of the logs that readers verify.")
@RegisterForReflection
public final class LogCommand {

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
        @Nullable
        Path file;

        @Override
        @SuppressWarnings("SystemOut") // a command line tool
        public Integer call() throws IOException {
            if (file == null) {
                throw new IllegalArgumentException("Name the file to make.");
            }
            try {
                KeyFile.write(file, MasterKey.draw());
            } catch (FileAlreadyExistsException e) {
                throw new IllegalArgumentException(
                        file + " exists already. A key that was used is never overwritten: name another file.", e);
            }
            System.out.println(
                    "The new key is in " + file + ". Set ANNALS_LOG_KEY_FILE to it, and keep a copy where no copy of"
                            + " the database is: who has both can forge what readers verify.");
            return 0;
        }
    }
}
