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

/** The database that an operator's command works on. */
final class OperatedDatabase {

    private OperatedDatabase() {}

    /** What is done with it. */
    interface Work {
        int run(DatabaseUrl database) throws SQLException;
    }

    /** Without Quarkus nothing says what is to be logged, and its log manager would print everything at the end. */
    static void logOnlyErrors() {
        Logger.getLogger("").setLevel(Level.SEVERE);
    }

    /**
     * Runs on the database that ANNALS_DATABASE_URL names, or on the service's own, which is started for it unless it runs.
     *
     * @throws IllegalArgumentException if there is none
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
                    + ": set ANNALS_DATABASE_URL, or ANNALS_DATA_DIR to the directory of the service's own.");
        }
        logOnlyErrors();
        try (RunningDatabase database = RunningDatabase.in(directory)) {
            return work.run(database.url());
        }
    }
}
