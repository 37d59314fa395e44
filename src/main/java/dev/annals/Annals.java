package dev.annals;

import dev.annals.cli.Client;
import dev.annals.config.AnnalsConfig;
import dev.annals.database.DatabaseUrl;
import dev.annals.database.DatabaseUrlConfigSource;
import dev.annals.embedded.EmbeddedDatabase;
import dev.annals.embedded.EmbeddedDatabaseException;
import dev.annals.ops.Migrate;
import dev.annals.ops.Verify;
import dev.annals.sequence.SequenceBenchmark;
import io.quarkus.runtime.Quarkus;
import io.quarkus.runtime.annotations.QuarkusMain;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.eclipse.microprofile.config.Config;
import org.eclipse.microprofile.config.ConfigProvider;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;

/** The service's entry point. Where no database is named, it runs one of its own for as long as the service runs. */
@QuarkusMain
public final class Annals {

    /** How long the service may take to stop before its database is stopped under it. */
    private static final long STOP_LIMIT_SECONDS = 60;

    private static final int OLDEST_POSTGRES = 15;
    private static final int WRONG_COMMAND_LINE = 2;

    private Annals() {}

    /**
     * Runs the service until it is told to stop; or, with a command as first argument, that: those of the {@link Client},
     * {@code migrate}, {@code verify}, {@code sequence-benchmark}. Exit code 1 with one sentence on standard error: it
     * cannot start; 2: the command line is wrong.
     */
    public static void main(String... arguments) {
        if (arguments.length == 0) {
            serve();
            return;
        }
        if (Client.isFor(arguments)) {
            System.exit(Client.run(arguments));
        }
        String[] options = Arrays.copyOfRange(arguments, 1, arguments.length);
        try {
            switch (arguments[0]) {
                case Migrate.NAME -> migrate(options);
                case Verify.NAME -> verify(options);
                case SequenceBenchmark.NAME -> runBenchmark(options);
                default -> {
                    System.err.println("There is no command " + arguments[0] + "; there are "
                            + String.join(", ", Client.NAMES) + ", " + Migrate.NAME + ", " + Verify.NAME + " and "
                            + SequenceBenchmark.NAME + ". Without one, the service runs.");
                    System.exit(WRONG_COMMAND_LINE);
                }
            }
        } catch (CommandLine.ParameterException e) {
            System.err.println(e.getMessage());
            e.getCommandLine().usage(System.err);
            System.exit(WRONG_COMMAND_LINE);
        } catch (IllegalArgumentException | EmbeddedDatabaseException e) {
            System.err.println(e.getMessage());
            System.exit(arguments[0].equals(Verify.NAME) ? Verify.UNCHECKED : 1);
        }
    }

    private static void serve() {
        try {
            Config config = ConfigProvider.getConfig();
            Set<Integer> ports = freePorts(config);
            Optional<DatabaseUrl> url = DatabaseUrl.configured(config);
            if (url.isPresent()) {
                checkServer(url.get());
                Quarkus.run(null, Annals::exit);
            } else {
                runWithDatabase(dataDirectory(config), ports);
            }
        } catch (IllegalArgumentException | EmbeddedDatabaseException e) {
            System.err.println(e.getMessage());
            System.exit(1);
        }
    }

    private static void migrate(String... arguments) {
        if (!Migrate.check(arguments)) {
            return;
        }
        checkServer(DatabaseUrl.configured(ConfigProvider.getConfig())
                .orElseThrow(() -> new IllegalArgumentException("Name the database in ANNALS_DATABASE_URL. The"
                        + " service's own is migrated whenever it starts.")));
        System.setProperty("annals.database.migrate-at-start", "true");
        withoutHttp();
        Quarkus.run(Migrate.class, Annals::exit, arguments);
    }

    private static void verify(String... arguments) {
        Verify verify = Verify.parse(arguments);
        if (verify == null) {
            return;
        }
        Config config = ConfigProvider.getConfig();
        PrintWriter out = new PrintWriter(System.out, false, StandardCharsets.UTF_8);
        Optional<DatabaseUrl> url = DatabaseUrl.configured(config);
        if (url.isPresent()) {
            System.exit(verify.run(url.get(), out));
        }
        Path directory = dataDirectory(config);
        if (!Files.exists(directory)) {
            throw new IllegalArgumentException("There is no database in " + directory
                    + ": set ANNALS_DATABASE_URL, or ANNALS_DATA_DIR to the directory of the service's own.");
        }
        int exitCode;
        try (EmbeddedDatabase database = EmbeddedDatabase.start(directory)) {
            exitCode = verify.run(database.url(), out);
        }
        System.exit(exitCode);
    }

    private static Path dataDirectory(Config config) {
        return config.getOptionalValue("annals.data-dir", Path.class).orElse(Path.of(AnnalsConfig.DEFAULT_DATA_DIR));
    }

    // Which the database must not take before the service itself does.
    private static Set<Integer> freePorts(Config config) {
        int port = checkPort(config, "quarkus.http.host", "0.0.0.0", "annals.port", AnnalsConfig.DEFAULT_PORT);
        int management = checkPort(
                config,
                "annals.management.host",
                AnnalsConfig.DEFAULT_MANAGEMENT_HOST,
                "annals.management.port",
                AnnalsConfig.DEFAULT_MANAGEMENT_PORT);
        if (port == management && port != 0) {
            throw new IllegalArgumentException(
                    "ANNALS_PORT and ANNALS_MANAGEMENT_PORT are both " + port + ". Set one of them to another port.");
        }
        return Set.copyOf(List.of(port, management));
    }

    // Quarkus would say as much on several lines, and of the management port not what to do.
    private static int checkPort(Config config, String hostName, String defaultHost, String name, String defaultPort) {
        String text = config.getOptionalValue(name, String.class).orElse(defaultPort);
        String host = config.getOptionalValue(hostName, String.class).orElse(defaultHost);
        if (!text.matches("[0-9]{1,5}") || Integer.parseInt(text) > 65_535) {
            return 0; // ConfigLimits says what is wrong with it
        }
        int port = Integer.parseInt(text);
        try (ServerSocket socket = new ServerSocket()) {
            socket.bind(new InetSocketAddress(host, port));
        } catch (IOException e) {
            String variable = name.toUpperCase(Locale.ROOT).replace('.', '_');
            throw new IllegalArgumentException(
                    "The service cannot listen on port " + port + " of " + host + " (" + e.getMessage()
                            + "). Stop what listens there, or set " + variable
                            + " to another port; 0 takes a free one.",
                    e);
        }
        return port;
    }

    // Migrations and pools alone, and no admin token that is printed once to somebody who does not look.
    private static void withoutHttp() {
        System.setProperty("quarkus.http.host-enabled", "false");
        System.setProperty("quarkus.management.host-enabled", "false");
        System.setProperty("quarkus.log.level", "ERROR");
        System.setProperty("annals.admin-token", "annals_" + UUID.randomUUID());
    }

    private static void runBenchmark(String... arguments) {
        int refused = SequenceBenchmark.check(arguments);
        if (refused >= 0) {
            System.exit(refused);
        }
        withoutHttp();
        // What is measured is the sequence and the database, not how many transactions queue for a client's few
        // threads.
        System.setProperty("quarkus.vertx.event-loops-pool-size", "16");
        try {
            if (DatabaseUrl.configured(ConfigProvider.getConfig()).isEmpty()) {
                EmbeddedDatabase database = EmbeddedDatabase.start(Files.createTempDirectory("annals-benchmark-"));
                Runtime.getRuntime().addShutdownHook(new Thread(database::close, "annals-embedded-database"));
                System.setProperty(
                        DatabaseUrlConfigSource.DATABASE_URL, database.url().withPassword());
            }
        } catch (IOException | EmbeddedDatabaseException e) {
            System.err.println(e.getMessage());
            System.exit(1);
        }
        Quarkus.run(SequenceBenchmark.class, Annals::exit, arguments);
    }

    // Quarkus would say the same, with some hundred lines of stack traces around it.
    private static void checkServer(DatabaseUrl url) {
        try (Connection connection = url.connect()) {
            int version = connection.getMetaData().getDatabaseMajorVersion();
            if (version < OLDEST_POSTGRES) {
                throw new IllegalArgumentException("The database " + url + " is PostgreSQL " + version
                        + "; Annals needs " + OLDEST_POSTGRES + " or newer.");
            }
        } catch (SQLException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            String advice = url.wantsTlsOf(e)
                    ? "If the server has no TLS, give it a certificate; or, where nobody else can listen, write"
                            + " ?sslmode=disable behind ANNALS_DATABASE_URL."
                    : "Check ANNALS_DATABASE_URL and that the server runs.";
            throw new IllegalArgumentException("The database " + url + " cannot be used (" + cause + "). " + advice, e);
        }
    }

    // Signals run all shutdown hooks at once, Quarkus' among them. The database has to wait for Quarkus, which reports
    // its end to the exit handler.
    private static void runWithDatabase(Path directory, Set<Integer> portsOfTheService) {
        EmbeddedDatabase database = EmbeddedDatabase.start(directory, portsOfTheService);
        CountDownLatch stopped = new CountDownLatch(1);
        Runtime.getRuntime()
                .addShutdownHook(new Thread(() -> stopAfter(stopped, database), "annals-embedded-database"));
        System.setProperty(DatabaseUrlConfigSource.DATABASE_URL, database.url().withPassword());
        System.setProperty("annals.embedded", "true");
        Quarkus.run(null, (exitCode, failure) -> {
            stopped.countDown();
            exit(exitCode, failure);
        });
    }

    // A wrong setting fails before Quarkus can log it.
    private static void exit(int exitCode, @Nullable Throwable failure) {
        if (failure != null) {
            Throwable cause = failure;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            System.err.println("The service stops: " + cause.getMessage());
        }
        System.exit(exitCode);
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
