package dev.annals.tools.embedded;

import dev.annals.kernel.database.DatabaseUrl;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/** The database in a data directory while a command works on it: the one that its service runs, or else started for the command. */
public final class RunningDatabase implements AutoCloseable {

    private final DatabaseUrl url;
    private final @Nullable EmbeddedDatabase own;

    private RunningDatabase(DatabaseUrl url, @Nullable EmbeddedDatabase own) {
        this.url = url;
        this.own = own;
    }

    /**
     * Connects to the database, or starts it.
     *
     * @throws EmbeddedDatabaseException one sentence that says what is wrong and what to do about it
     */
    public static RunningDatabase in(Path directory) {
        Path file = directory.resolve(EmbeddedDatabase.URL_FILE);
        if (Files.exists(file)) {
            DatabaseUrl url = url(file);
            try {
                url.connect().close();
                return new RunningDatabase(url, null);
            } catch (SQLException notRunning) {
                // Where it runs all the same, its lock is held: then the start says so.
            }
        }
        EmbeddedDatabase own = EmbeddedDatabase.start(directory);
        return new RunningDatabase(own.url(), own);
    }

    private static DatabaseUrl url(Path file) {
        try {
            return DatabaseUrl.parse(Files.readString(file).strip());
        } catch (IOException e) {
            throw new EmbeddedDatabaseException(
                    "The file " + file + " cannot be read (" + PostgresBinaries.reason(e)
                            + "). Run the command as the user of the service.",
                    e);
        } catch (IllegalArgumentException e) {
            throw new EmbeddedDatabaseException("The file " + file + " does not hold the URL of a database.", e);
        }
    }

    /** How to log in, as the owner. */
    public DatabaseUrl url() {
        return url;
    }

    @Override
    public void close() {
        if (own != null) {
            own.close();
        }
    }
}
