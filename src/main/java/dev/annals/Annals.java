package dev.annals;

import dev.annals.database.DatabaseUrl;
import dev.annals.database.DatabaseUrlConfigSource;
import dev.annals.embedded.EmbeddedDatabase;
import dev.annals.embedded.EmbeddedDatabaseException;
import io.quarkus.runtime.Quarkus;
import io.quarkus.runtime.annotations.QuarkusMain;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.eclipse.microprofile.config.Config;
import org.eclipse.microprofile.config.ConfigProvider;

/** The service's entry point. Where no database is named, it runs one of its own for as long as the service runs. */
@QuarkusMain
public final class Annals {

    /** How long the service may take to stop before its database is stopped under it. */
    private static final long STOP_LIMIT_SECONDS = 60;

    private Annals() {}

    /** Runs the service until it is told to stop. Exit code 1 with one sentence on standard error: it cannot start. */
    public static void main(String... arguments) {
        try {
            Config config = ConfigProvider.getConfig();
            Optional<String> url = config.getOptionalValue(DatabaseUrlConfigSource.DATABASE_URL, String.class);
            if (url.isPresent()) {
                DatabaseUrl.parse(url.get().strip());
                Quarkus.run(arguments);
            } else {
                runWithDatabase(config.getValue("annals.data-dir", Path.class), arguments);
            }
        } catch (IllegalArgumentException | EmbeddedDatabaseException e) {
            System.err.println(e.getMessage());
            System.exit(1);
        }
    }

    // Signals run all shutdown hooks at once, Quarkus' among them. The database has to wait for Quarkus, which reports
    // its end to the exit handler.
    private static void runWithDatabase(Path directory, String... arguments) {
        EmbeddedDatabase database = EmbeddedDatabase.start(directory);
        CountDownLatch stopped = new CountDownLatch(1);
        Runtime.getRuntime()
                .addShutdownHook(new Thread(() -> stopAfter(stopped, database), "annals-embedded-database"));
        System.setProperty(DatabaseUrlConfigSource.DATABASE_URL, database.url().withPassword());
        System.setProperty("annals.embedded", "true");
        Quarkus.run(
                null,
                (exitCode, failure) -> {
                    stopped.countDown();
                    System.exit(exitCode);
                },
                arguments);
    }

    private static void stopAfter(CountDownLatch stopped, EmbeddedDatabase database) {
        try {
            stopped.await(STOP_LIMIT_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            database.close();
        }
    }
}
