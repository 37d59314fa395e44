package dev.annals.tools.embedded;

import dev.annals.kernel.database.DatabaseUrl;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Base64;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.eclipse.microprofile.config.Config;
import org.jboss.logging.Logger;

/**
 * A durable PostgreSQL server on a {@link DataDirectory}. It listens only on the loopback address, has no Unix socket, and requires
 * the password.
 *
 * <table>
 * <caption>States of the server</caption>
 * <tr><td>left by a killed service<td>{@link #start} stops it, and starts its own
 * <tr><td>running<td>{@link #url} connects to it; the URL does not change
 * <tr><td>died<td>started again on its port, until it runs or {@link #close} is called
 * <tr><td>closed<td>stopped, and the directory is unlocked
 * </table>
 */
public final class EmbeddedDatabase implements AutoCloseable {

    private static final Logger LOG = Logger.getLogger(EmbeddedDatabase.class);

    private static final String NAME = "annals";
    /** Long, because a start after a crash replays the write-ahead log. */
    private static final Duration START_LIMIT = Duration.ofMinutes(15);

    private static final Duration STOP_LIMIT = Duration.ofSeconds(30);
    /** pg_ctl's own limit ends first. */
    private static final Duration GRACE = Duration.ofSeconds(10);

    private static final int START_ATTEMPTS = 20;
    private static final Duration PAUSE_BETWEEN_LOOKS = Duration.ofMillis(5);
    private static final Duration PAUSE_BETWEEN_ATTEMPTS = Duration.ofMillis(500);
    private static final Duration PAUSE_BETWEEN_RESTARTS = Duration.ofSeconds(5);
    private static final int LOG_TAIL_BYTES = 16_384;

    /** The command line of every start sets them, so that no file can override them. */
    private static final Map<String, String> FIXED_SETTINGS = Map.of(
            "listen_addresses", "127.0.0.1",
            "unix_socket_directories", "",
            "password_encryption", "scram-sha-256",
            "ssl", "off",
            "fsync", "on",
            "synchronous_commit", "on",
            "full_page_writes", "on",
            // A prepared transaction would keep its project's lock after its session has ended.
            "max_prepared_transactions", "0");

    private final DataDirectory directory;
    private final PostgresBinaries binaries;
    private final PidFile pidFile;
    private final Set<Integer> portsOfTheService;
    private DatabaseUrl url;
    private boolean closed;

    private EmbeddedDatabase(
            DataDirectory directory, PostgresBinaries binaries, Set<Integer> portsOfTheService, boolean isNew) {
        this.directory = directory;
        this.binaries = binaries;
        this.pidFile = new PidFile(directory.cluster());
        this.portsOfTheService = Set.copyOf(portsOfTheService);
        this.url = isNew ? newUrl() : DataDirectory.readUrl(directory.root());
    }

    /** The directory that the settings name for it. Quarkus need not be started. */
    public static Path configuredDirectory(Config config) {
        return DataDirectory.configured(config);
    }

    /** Whether a directory has an embedded database, or one that was retired. */
    public static boolean isIn(Path directory) {
        return Files.exists(directory.resolve(DataDirectory.URL_FILE))
                || Files.exists(directory.resolve(DataDirectory.COPIED_URL_FILE));
    }

    /** Lets no service start any more on a database that goes elsewhere. The caller has it open, so that none starts meanwhile. */
    public static void retire(Path directory) throws IOException {
        Files.move(directory.resolve(DataDirectory.URL_FILE), directory.resolve(DataDirectory.COPIED_URL_FILE));
        try (FileChannel renamed = FileChannel.open(directory)) {
            renamed.force(true);
        }
    }

    /**
     * Starts the database in {@code directory}, and creates both if they do not exist.
     *
     * @throws EmbeddedDatabaseException one sentence that names the fault and the remedy
     */
    public static EmbeddedDatabase start(Path directory) {
        return start(directory, Set.of());
    }

    /**
     * Starts the database on a port that its service will not use.
     *
     * @throws EmbeddedDatabaseException one sentence that names the fault and the remedy
     */
    public static EmbeddedDatabase start(Path directory, Set<Integer> portsOfTheService) {
        return start(directory, directory, portsOfTheService);
    }

    /**
     * Starts a member in a directory of its own below that of home, with home's programs.
     *
     * @throws EmbeddedDatabaseException one sentence that names the fault and the remedy
     */
    public static EmbeddedDatabase startMember(Path home, String name, Set<Integer> portsOfTheService) {
        return start(home.resolve(name), home, portsOfTheService);
    }

    /** Starts the database with PostgreSQL's programs unpacked below {@code binariesParent}, so that many databases can share them. */
    static EmbeddedDatabase start(Path directory, Path binariesParent, Set<Integer> portsOfTheService) {
        DataDirectory data = DataDirectory.open(directory);
        try {
            return start(data, directory.equals(binariesParent) ? data.root() : binariesParent, portsOfTheService);
        } catch (IOException e) {
            data.close();
            throw new EmbeddedDatabaseException(
                    "The embedded database cannot use its directory " + data.root() + " ("
                            + PostgresBinaries.reason(e) + "). Make the directory and its files writable for user "
                            + System.getProperty("user.name") + ", or set ANNALS_DATA_DIR to another.",
                    e);
        } catch (RuntimeException | Error e) {
            data.close();
            throw e;
        }
    }

    private static EmbeddedDatabase start(DataDirectory directory, Path binariesParent, Set<Integer> portsOfTheService)
            throws IOException {
        boolean isNew = directory.isNew();
        if (isNew) {
            directory.requireSpace();
        }
        PostgresBinaries binaries =
                PostgresBinaries.unpack(binariesParent.toAbsolutePath().normalize());
        EmbeddedDatabase database = new EmbeddedDatabase(directory, binaries, portsOfTheService, isNew);
        if (isNew) {
            directory.initialize(binaries, database.url);
        } else {
            directory.requireVersion(binaries.majorVersion());
            database.stopOrphan();
        }
        directory.writeAccessRules();
        database.startServer(true);
        try {
            directory.writeUrl(database.url());
            database.createDatabase();
            if (binariesParent.equals(directory.root())) {
                binaries.removeOthers();
            }
        } catch (IOException | RuntimeException e) {
            database.close();
            throw e;
        }
        LOG.infof(
                "The embedded PostgreSQL runs in %s on port %d",
                directory.root(), database.url().port());
        return database;
    }

    /** The URL with the password. It stays the same until {@link #close()}. */
    public synchronized DatabaseUrl url() {
        return url;
    }

    /** Stops PostgreSQL. Open transactions are rolled back; all commits are on disk. Repeated calls do nothing. */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        stopServer();
        directory.close();
    }

    private synchronized void startServer(boolean mayChangePort) throws IOException {
        if (closed) {
            return;
        }
        PostgresBinaries.Outcome outcome = new PostgresBinaries.Outcome(0, "");
        String log = "";
        for (int attempt = 1; attempt <= START_ATTEMPTS; attempt++) {
            // Another process may take the port between two attempts.
            if (mayChangePort && (portsOfTheService.contains(url.port()) || !isFree(url.port()))) {
                url = new DatabaseUrl(
                        url.user(), url.password(), url.host(), freePort(), url.database(), url.parameters());
            }
            pidFile.forgetForeignProcess();
            Path startLog = directory.root().resolve("start.log");
            Files.deleteIfExists(startLog);
            outcome = startServer(startLog);
            log = Files.exists(startLog) ? Files.readString(startLog) : "";
            if (outcome.exitCode() == 0) {
                restartWhenItDies();
                return;
            }
            // The processes of a killed server take a moment to end. Until then no other server starts.
            pause(PAUSE_BETWEEN_ATTEMPTS);
        }
        String output = log + "\n" + newestServerLog() + "\n" + outcome.output();
        throw new EmbeddedDatabaseException("The embedded PostgreSQL in " + directory.root() + " does not start ("
                + new PostgresBinaries.Outcome(outcome.exitCode(), output).complaint()
                + "). Its data are untouched. See "
                + directory.cluster().resolve("log") + ".");
    }

    // Returns when the pid file says ready, or pg_ctl ends. pg_ctl alone looks ten times a second, and a start takes
    // little more than a tenth.
    private PostgresBinaries.Outcome startServer(Path log) {
        String before = pidFile.text();
        CompletableFuture<PostgresBinaries.Outcome> start = new CompletableFuture<PostgresBinaries.Outcome>()
                .completeAsync(
                        () -> binaries.run(
                                directory.root(),
                                START_LIMIT.plus(GRACE),
                                "pg_ctl",
                                "start",
                                "-p",
                                forShell(binaries.directory().resolve("bin/postgres")),
                                "--pgdata=" + forShell(directory.cluster()),
                                "--wait",
                                "--timeout=" + START_LIMIT.toSeconds(),
                                "--silent",
                                "--log=" + forShell(log),
                                "--options=" + serverOptions()),
                        EmbeddedDatabase::runBeside);
        while (!start.isDone()) {
            String now = pidFile.text();
            if (!now.equals(before) && PidFile.isReady(now)) {
                return new PostgresBinaries.Outcome(0, "");
            }
            pause(PAUSE_BETWEEN_LOOKS);
        }
        try {
            return start.join();
        } catch (CompletionException e) {
            throw e.getCause() instanceof EmbeddedDatabaseException known ? known : e;
        }
    }

    /** pg_ctl passes the path to a shell, in double quotes. It runs in the data directory. */
    private String forShell(Path path) {
        return (PostgresBinaries.isPlain(path) ? path : directory.root().relativize(path)).toString();
    }

    private static void runBeside(Runnable command) {
        Thread thread = new Thread(command, "annals-embedded-database-start");
        thread.setDaemon(true);
        thread.start();
    }

    private String serverOptions() {
        StringBuilder options = new StringBuilder("-p ").append(url.port());
        FIXED_SETTINGS.forEach((name, value) ->
                options.append(" -c ").append(name).append('=').append(value.isEmpty() ? "''" : value));
        return options.toString();
    }

    private String newestServerLog() throws IOException {
        Path logs = directory.cluster().resolve("log");
        if (!Files.isDirectory(logs)) {
            return "";
        }
        try (var files = Files.list(logs)) {
            Optional<Path> newest = files.max(
                    (a, b) -> Long.compare(a.toFile().lastModified(), b.toFile().lastModified()));
            return newest.isPresent() ? lastLines(newest.get()) : "";
        }
    }

    private static String lastLines(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file)) {
            ByteBuffer end = ByteBuffer.allocate((int) Math.min(channel.size(), LOG_TAIL_BYTES));
            channel.read(end, channel.size() - end.capacity());
            return new String(end.array(), StandardCharsets.UTF_8);
        }
    }

    private void restartWhenItDies() throws IOException {
        Optional<ProcessHandle> server = pidFile.server();
        if (server.isPresent()) {
            CompletableFuture<Void> unused = server.get().onExit().thenRunAsync(this::restart);
        }
    }

    private void restart() {
        while (!isClosed()) {
            LOG.error("The embedded PostgreSQL has ended unexpectedly. It is started again.");
            try {
                startServer(false);
                return;
            } catch (IOException | EmbeddedDatabaseException e) {
                LOG.error("The embedded PostgreSQL could not be started again. The service tries again.", e);
                pause(PAUSE_BETWEEN_RESTARTS);
            }
        }
    }

    private synchronized boolean isClosed() {
        return closed;
    }

    // Stopping it takes less than a second, and the new server is sure to have this release's settings.
    private void stopOrphan() throws IOException {
        if (pidFile.server().isPresent()) {
            LOG.info("The last service on this directory was killed. The PostgreSQL that it left is stopped.");
            stopServer();
        }
    }

    private void stopServer() {
        for (String mode : List.of("fast", "immediate")) {
            PostgresBinaries.Outcome outcome = binaries.run(
                    directory.root(),
                    STOP_LIMIT.plus(GRACE),
                    "pg_ctl",
                    "stop",
                    "--pgdata=" + directory.cluster(),
                    "--mode=" + mode,
                    "--wait",
                    "--timeout=" + STOP_LIMIT.toSeconds(),
                    "--silent");
            if (outcome.exitCode() == 0) {
                return;
            }
            LOG.warnf(
                    "The embedded PostgreSQL did not stop in the mode %s: %s",
                    mode, PostgresBinaries.firstLine(outcome.output()));
        }
    }

    private void createDatabase() {
        try (Connection connection = url.withDatabase("postgres").connect();
                Statement statement = connection.createStatement()) {
            boolean exists;
            try (ResultSet found =
                    statement.executeQuery("select from pg_catalog.pg_database where datname = '" + NAME + "'")) {
                exists = found.next();
            }
            if (!exists) {
                statement.executeUpdate("create database " + NAME);
            }
        } catch (SQLException e) {
            throw new EmbeddedDatabaseException(
                    "The embedded PostgreSQL in " + directory.root() + " runs but refuses its own service ("
                            + e.getMessage() + "). Restore " + DataDirectory.URL_FILE
                            + " from a backup if its password was changed.",
                    e);
        }
    }

    private DatabaseUrl newUrl() {
        byte[] secret = new byte[32];
        new SecureRandom().nextBytes(secret);
        String password = Base64.getUrlEncoder().withoutPadding().encodeToString(secret);
        return new DatabaseUrl(NAME, password, "127.0.0.1", freePort(), NAME, Map.of("sslmode", "disable"));
    }

    private static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket()) {
            // PostgreSQL does too. Otherwise connections that have just ended would block the port.
            socket.setReuseAddress(true);
            socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    private int freePort() {
        // A refused port stays open while the next one is drawn, so that it is not drawn again.
        Deque<ServerSocket> drawn = new ArrayDeque<>();
        try {
            do {
                drawn.push(new ServerSocket(0, 1, InetAddress.getLoopbackAddress()));
            } while (portsOfTheService.contains(drawn.element().getLocalPort()));
            return drawn.element().getLocalPort();
        } catch (IOException e) {
            throw new EmbeddedDatabaseException(
                    "No TCP port is free on the loopback address (" + e.getMessage()
                            + "). Check the machine's limits on open sockets.",
                    e);
        } finally {
            drawn.forEach(EmbeddedDatabase::release);
        }
    }

    private static void release(ServerSocket drawn) {
        try {
            drawn.close();
        } catch (IOException e) {
            LOG.warn("Cannot release a port. It ends with this process.", e);
        }
    }

    private static void pause(Duration duration) {
        try {
            TimeUnit.MILLISECONDS.sleep(duration.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new EmbeddedDatabaseException("Waiting for the embedded PostgreSQL was interrupted.", e);
        }
    }
}
