package dev.annals.tools.ops;

import dev.annals.kernel.config.StartSettings;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.embedded.EmbeddedDatabase;
import dev.annals.tools.embedded.RunningDatabase;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.Optional;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.eclipse.microprofile.config.Config;

/** The database of an operator's command. */
final class OperatedDatabase {

    private OperatedDatabase() {}

    /** Work on the database. */
    interface Work {
        int run(DatabaseUrl database) throws SQLException;
    }

    /** Without Quarkus, its log manager would print all levels at the end. */
    static void logOnlyErrors() {
        Logger.getLogger("").setLevel(Level.SEVERE);
    }

    /**
     * Works on the database in ANNALS_DATABASE_URL, or on the embedded one, which is started unless it runs.
     *
     * @throws IllegalArgumentException without a database
     */
    static int run(Work work) throws SQLException {
        Config config = StartSettings.read();
        Optional<DatabaseUrl> url = DatabaseUrl.configured(config);
        if (url.isPresent()) {
            return work.run(url.get());
        }
        Path directory = EmbeddedDatabase.configuredDirectory(config);
        if (!Files.exists(directory)) {
            throw new IllegalArgumentException("There is no database in " + directory
                    + ": set ANNALS_DATABASE_URL, or ANNALS_DATA_DIR to the directory of the embedded database.");
        }
        logOnlyErrors();
        try (RunningDatabase database = RunningDatabase.in(directory)) {
            return work.run(database.url());
        }
    }
}
