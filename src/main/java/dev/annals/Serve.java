package dev.annals;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.config.SettingsCheck;
import dev.annals.kernel.config.StartSettings;
import dev.annals.kernel.database.DatabaseCheck;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.DatabaseUrlConfigSource;
import dev.annals.kernel.database.NamedDatabase;
import dev.annals.tools.command.InQuarkus;
import dev.annals.tools.embedded.EmbeddedDatabase;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.eclipse.microprofile.config.Config;
import picocli.CommandLine.Command;

/**
 * {@code serve}: runs the service until the process is stopped. Without a configured database, it runs an embedded one meanwhile.
 */
@Command(
        name = Serve.NAME,
        mixinStandardHelpOptions = true,
        description = "Runs the service, as annals does without a command. Its settings come from the environment.")
@RegisterForReflection
final class Serve implements Runnable {

    static final String NAME = "serve";

    /** The database stops after this time even if the service has not stopped. */
    private static final long STOP_LIMIT_SECONDS = 60;

    /** @throws IllegalArgumentException if it cannot start, with one sentence that names the fault and the remedy */
    @Override
    public void run() {
        Config config = StartSettings.read();
        SettingsCheck settings = Settings.check();
        boolean json = config.getOptionalValue("annals.logging.format", String.class)
                .filter("json"::equalsIgnoreCase)
                .isPresent();
        settings.unknown(System.getenv().keySet()).forEach(sentence -> say("WARN", sentence, json));
        settings.requireValid(config);
        List<NamedDatabase> databases = NamedDatabase.all(config);
        Set<Integer> ports = freePorts(config);
        Optional<DatabaseUrl> home = databases.get(0).url();
        if (home.isPresent()) {
            NamedDatabase.requireUrls(databases);
            DatabaseCheck.requireServer(home.get());
            InQuarkus.serve(() -> {}, Serve::sayFailure);
        } else {
            Path directory = EmbeddedDatabase.configuredDirectory(config);
            announce(directory, json);
            serveWithDatabases(directory, databases, ports);
        }
    }

    private static void announce(Path directory, boolean json) {
        if (!Files.exists(directory)) {
            say(
                    "INFO",
                    "No database is configured. The service creates an embedded PostgreSQL in "
                            + directory.toAbsolutePath().normalize()
                            + ". Stop it with Ctrl-C. To use another PostgreSQL, set ANNALS_DATABASE_URL."
                            + " To store the data elsewhere, set ANNALS_DATA_DIR. To see all commands, run annals help.",
                    json);
        }
    }

    /** Prints why the service does not start, as a line of the log: the log itself does not exist yet. */
    static void sayFailure(String sentence) {
        String format = System.getProperty("annals.logging.format", System.getenv("ANNALS_LOGGING_FORMAT"));
        say("ERROR", sentence, "json".equalsIgnoreCase(format));
    }

    // Log lines wait until Quarkus starts, and are lost if it does not.
    @SuppressWarnings("SystemOut")
    private static void say(String level, String sentence, boolean json) {
        String line = json
                ? JsonNodeFactory.instance
                        .objectNode()
                        .put(
                                "timestamp",
                                OffsetDateTime.now(ZoneId.systemDefault()).toString())
                        .put("level", level)
                        .put("message", sentence)
                        .toString()
                : sentence;
        System.err.println(line);
    }

    // The database must not use the ports of the service.
    static Set<Integer> freePorts(Config config) {
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

    // Quarkus would print several lines, without a remedy for the management port.
    private static int checkPort(Config config, String hostName, String defaultHost, String name, String defaultPort) {
        String text = config.getOptionalValue(name, String.class).orElse(defaultPort);
        String host = config.getOptionalValue(hostName, String.class).orElse(defaultHost);
        if (!text.matches("[0-9]{1,5}") || Integer.parseInt(text) > 65_535) {
            return 0; // Quarkus reports it
        }
        int port = Integer.parseInt(text);
        try {
            listen(host, 0);
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    "The service cannot listen on " + host + " (" + e.getMessage() + "). Set " + variable(hostName)
                            + " to an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all.",
                    e);
        }
        try {
            listen(host, port);
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    "The service cannot listen on port " + port + " of " + host + " (" + e.getMessage()
                            + "). Stop the program that listens there, or set " + variable(name)
                            + " to another port, or to 0 for a free one.",
                    e);
        }
        return port;
    }

    private static void listen(String host, int port) throws IOException {
        try (ServerSocket socket = new ServerSocket()) {
            socket.bind(new InetSocketAddress(host, port));
        }
    }

    private static String variable(String name) {
        return name.toUpperCase(Locale.ROOT).replace('.', '_');
    }

    // A signal runs all shutdown hooks at once. The database has to wait until Quarkus reports its end.
    private static void serveWithDatabases(
            Path directory, List<NamedDatabase> databases, Set<Integer> portsOfTheService) {
        Queue<EmbeddedDatabase> started = new ConcurrentLinkedQueue<>();
        CountDownLatch stopped = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stopAfter(stopped, started), "annals-embedded-database"));
        EmbeddedDatabase home = EmbeddedDatabase.start(directory, portsOfTheService);
        started.add(home);
        databases.stream().skip(1).filter(member -> member.url().isEmpty()).forEach(member -> {
            EmbeddedDatabase database = EmbeddedDatabase.startMember(directory, member.name(), portsOfTheService);
            started.add(database);
            NamedDatabase.useOwn(member.name(), database.url());
        });
        System.setProperty(DatabaseUrlConfigSource.DATABASE_URL, home.url().withPassword());
        StartSettings.useOwnDatabase();
        InQuarkus.serve(stopped::countDown, Serve::sayFailure);
    }

    private static void stopAfter(CountDownLatch stopped, Collection<EmbeddedDatabase> databases) {
        try {
            stopped.await(STOP_LIMIT_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            databases.forEach(EmbeddedDatabase::close);
        }
    }
}
