package dev.annals.tools.embedded;

import dev.annals.kernel.database.DatabaseUrl;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A data directory's database while a command uses it. If no service runs it, the command starts it, and stops it at the end. */
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
     * @throws EmbeddedDatabaseException one sentence that names the fault and the remedy
     */
    public static RunningDatabase in(Path directory) {
        return in(directory, () -> EmbeddedDatabase.start(directory));
    }

    /**
     * Connects to a member of the database in {@code home}, or starts it.
     *
     * @throws EmbeddedDatabaseException one sentence that names the fault and the remedy
     */
    public static RunningDatabase member(Path home, String name) {
        return in(home.resolve(name), () -> EmbeddedDatabase.startMember(home, name, Set.of()));
    }

    private static RunningDatabase in(Path directory, Supplier<EmbeddedDatabase> start) {
        if (Files.exists(directory.resolve(DataDirectory.URL_FILE))) {
            DatabaseUrl url = DataDirectory.readUrl(directory);
            try (Connection connection = url.connect();
                    Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery("show data_directory")) {
                row.next();
                // A copy of a directory has the URL of the database that it was copied from.
                if (Path.of(row.getString("data_directory"))
                        .equals(directory.toRealPath().resolve(DataDirectory.CLUSTER))) {
                    return new RunningDatabase(url, null);
                }
            } catch (IOException | SQLException notRunning) {
                // If a service runs but does not answer, the start below finds its lock and reports it.
            }
        }
        EmbeddedDatabase own = start.get();
        return new RunningDatabase(own.url(), own);
    }

    /** The owner's URL, with the password. */
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
