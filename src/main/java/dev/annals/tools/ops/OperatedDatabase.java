package dev.annals.tools.ops;

import dev.annals.kernel.config.StartSettings;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.NamedDatabase;
import dev.annals.tools.embedded.EmbeddedDatabase;
import dev.annals.tools.embedded.RunningDatabase;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.eclipse.microprofile.config.Config;

/** The databases of an operator's command. */
final class OperatedDatabase {

    private OperatedDatabase() {}

    /** Work on home. */
    interface Work {
        int run(DatabaseUrl database) throws SQLException;
    }

    /** Work on all databases, by their names: home first. */
    interface WorkOnAll {
        int run(Map<String, DatabaseUrl> databases) throws SQLException;
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
        return run(
                NamedDatabase.all(config).subList(0, 1),
                config,
                all -> work.run(all.values().iterator().next()));
    }

    /**
     * Works on the databases in ANNALS_DATABASES. Embedded ones are started unless they run.
     *
     * @throws IllegalArgumentException without a database
     */
    static int runAll(WorkOnAll work) throws SQLException {
        Config config = StartSettings.read();
        return run(NamedDatabase.all(config), config, work);
    }

    private static int run(List<NamedDatabase> databases, Config config, WorkOnAll work) throws SQLException {
        Path directory = EmbeddedDatabase.configuredDirectory(config);
        if (databases.get(0).url().isPresent()) {
            NamedDatabase.requireUrls(databases);
        } else if (!Files.exists(directory)) {
            throw new IllegalArgumentException("There is no database in " + directory
                    + ": set ANNALS_DATABASE_URL, or ANNALS_DATA_DIR to the directory of the embedded database.");
        } else {
            logOnlyErrors();
        }
        Map<String, DatabaseUrl> urls = new LinkedHashMap<>();
        Deque<RunningDatabase> own = new ArrayDeque<>();
        try {
            for (NamedDatabase database : databases) {
                if (database.url().isPresent()) {
                    urls.put(database.name(), database.url().get());
                } else {
                    RunningDatabase running = urls.isEmpty()
                            ? RunningDatabase.in(directory)
                            : RunningDatabase.member(directory, database.name());
                    own.push(running);
                    urls.put(database.name(), running.url());
                }
            }
            return work.run(urls);
        } finally {
            own.forEach(RunningDatabase::close);
        }
    }
}
