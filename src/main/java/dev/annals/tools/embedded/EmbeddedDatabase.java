package dev.annals.tools.embedded;

import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.database.DatabaseUrl;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.eclipse.microprofile.config.Config;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * A real, durable PostgreSQL in a directory. It listens only on the loopback address, has no Unix socket, and always asks
 * for the password. That is in the file {@code database-url}, which only its owner can read.
 *
 * <p>The directory holds:
 *
 * <pre>
 * annals.lock              held while a service uses the directory; names its process
 * database-url             how to log in, for the next start and for psql "$(cat data/database-url)"
 * postgresql/              PostgreSQL's own data directory, with its log
 * postgresql-binaries-…/   its programs
 * </pre>
 *
 * <p>The server outlives a service that is killed. The next start finds it by its pid file, stops it, and starts its
 * own. If the server is killed, the service starts it again.
 */
public final class EmbeddedDatabase implements AutoCloseable {

    private static final Logger LOG = Logger.getLogger(EmbeddedDatabase.class);

    private static final String NAME = "annals";
    static final String LOCK = "annals.lock";
    static final String URL_FILE = "database-url";
    private static final Duration INITIALIZE_LIMIT = Duration.ofMinutes(2);
    /** Long, because a start after a crash replays the write-ahead log. */
    private static final Duration START_LIMIT = Duration.ofMinutes(15);

    private static final Duration STOP_LIMIT = Duration.ofSeconds(30);
    private static final int START_ATTEMPTS = 20;
    /** In postmaster.pid, from 0. */
    private static final int STATUS_LINE = 7;

    private static final Duration PAUSE_BETWEEN_LOOKS = Duration.ofMillis(5);
    private static final Duration PAUSE_BETWEEN_ATTEMPTS = Duration.ofMillis(500);
    private static final Duration PAUSE_BETWEEN_RESTARTS = Duration.ofSeconds(5);
    private static final long SPACE_NEEDED_BYTES = 200L << 20;
    /** No system gives a process this number; the largest is 2^22. */
    private static final int NOBODYS_PID = Integer.MAX_VALUE - 1;

    /** Written once, into a file that its owner may change: fit for a machine with 1 or 2 GB of memory. */
    private static final List<String> INITIAL_SETTINGS = List.of(
            "shared_buffers=128MB",
            "max_connections=100",
            "work_mem=4MB",
            "maintenance_work_mem=64MB",
            "max_wal_size=1GB",
            "wal_compression=on",
            "jit=off",
            "timezone=UTC",
            "log_timezone=UTC",
            // Seven files, one per weekday, each overwritten after a week: the log cannot fill the disk.
            "logging_collector=on",
            "log_filename=postgresql-%a.log",
            "log_truncate_on_rotation=on",
            "log_rotation_age=1d",
            "log_rotation_size=0");

    /** Given on the command line at every start, so that no file can override them. */
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

    /** What not even the garbage collector may close. */
    private static final Queue<FileChannel> KEPT_OPEN = new ConcurrentLinkedQueue<>();

    private final Path directory;
    private final Path cluster;
    private final Path urlFile;
    private final Set<Integer> portsOfTheService;
    private final FileChannel lock;
    private PostgresBinaries binaries;
    private DatabaseUrl url;
    private boolean closed;

    /** The directory that the settings name for it; Quarkus need not be started. */
    public static Path configuredDirectory(Config config) {
        return config.getOptionalValue("annals.data-dir", Path.class).orElse(Path.of(AnnalsConfig.DEFAULT_DATA_DIR));
    }

    /**
     * Starts the database in {@code directory}, which is made if it is not there.
     *
     * @throws EmbeddedDatabaseException one sentence that says what is wrong and what to do about it
     */
    public static EmbeddedDatabase start(Path directory) {
        return start(directory, Set.of());
    }

    /**
     * The same, on a port on which its service is not going to listen.
     *
     * @throws EmbeddedDatabaseException one sentence that says what is wrong and what to do about it
     */
    public static EmbeddedDatabase start(Path directory, Set<Integer> portsOfTheService) {
        return start(directory, directory, portsOfTheService);
    }

    /** The same, with PostgreSQL's programs unpacked elsewhere, so that many databases can share them. */
    static EmbeddedDatabase start(Path directory, Path binariesParent, Set<Integer> portsOfTheService) {
        Path absolute = ownDirectory(directory);
        FileChannel lock = lock(absolute);
        try {
            Path programs = binariesParent.equals(directory)
                    ? absolute
                    : binariesParent.toAbsolutePath().normalize();
            return new EmbeddedDatabase(absolute, programs, portsOfTheService, lock);
        } catch (IOException e) {
            release(lock);
            throw new EmbeddedDatabaseException(
                    "The embedded database cannot use its directory " + absolute + " ("
                            + PostgresBinaries.reason(e) + "). Make the directory and its files writable for user "
                            + System.getProperty("user.name") + ", or set ANNALS_DATA_DIR to another.",
                    e);
        } catch (RuntimeException | Error e) {
            release(lock);
            throw e;
        }
    }

    private EmbeddedDatabase(Path directory, Path binariesParent, Set<Integer> portsOfTheService, FileChannel lock)
            throws IOException {
        this.directory = directory;
        this.portsOfTheService = Set.copyOf(portsOfTheService);
        this.cluster = directory.resolve("postgresql");
        this.urlFile = directory.resolve(URL_FILE);
        this.lock = lock;
        boolean isNew = !Files.exists(cluster);
        if (isNew) {
            checkSpace();
        }
        this.binaries = PostgresBinaries.unpack(binariesParent);
        this.url = isNew ? newUrl() : rememberedUrl();
        if (isNew) {
            initialize();
        } else {
            checkVersion();
            stopOrphan();
        }
        writeAccessRules();
        startServer(true);
        try {
            writeUrlFile();
            createDatabase();
            if (binariesParent.equals(directory)) {
                binaries.removeOthers();
            }
        } catch (IOException | RuntimeException e) {
            close();
            throw e;
        }
        LOG.infof("The embedded PostgreSQL runs in %s on port %d", directory, url.port());
    }

    /** How to reach the database. It stays the same until {@link #close()}. */
    public synchronized DatabaseUrl url() {
        return url;
    }

    /** Stops PostgreSQL: open transactions are rolled back, everything committed is on disk. Repeated calls do nothing. */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        stopServer();
        release(lock);
    }

    private static Path ownDirectory(Path directory) {
        Path absolute = directory.toAbsolutePath().normalize();
        if (absolute.toString().chars().anyMatch(c -> c < ' ')) {
            throw new EmbeddedDatabaseException(
                    "The name of the data directory " + absolute.toString().replaceAll("\\p{Cntrl}", "?")
                            + " has a line break or another control character, which PostgreSQL's files cannot hold. Set ANNALS_DATA_DIR to"
                            + " another.");
        }
        try {
            if (!Files.isDirectory(absolute)) {
                Files.createDirectories(absolute);
            } else if (!isOwn(absolute)) {
                throw new EmbeddedDatabaseException("The data directory " + absolute + " holds files and no database of"
                        + " Annals; it is left as it is. Set ANNALS_DATA_DIR to an empty directory, or to one that is not"
                        + " there yet.");
            }
            // A volume of Kubernetes is root's and its group's, and what PostgreSQL makes in it is the user's alone.
            if (!Files.getAttribute(absolute, "unix:uid").equals(0)
                    || PostgresBinaries.userId().equals(Optional.of(0))) {
                Files.setPosixFilePermissions(absolute, PosixFilePermissions.fromString("rwx------"));
            }
            // The real path, to be comparable with the path that the server reports.
            return absolute.toRealPath();
        } catch (IOException e) {
            throw new EmbeddedDatabaseException(
                    "The data directory " + absolute + " cannot be made or written (" + PostgresBinaries.reason(e)
                            + "). Set ANNALS_DATA_DIR to a directory that user " + System.getProperty("user.name")
                            + " may write, or ANNALS_DATABASE_URL to use another PostgreSQL.",
                    e);
        }
    }

    // The lock is the first file to be made, and every backup has the URL.
    private static boolean isOwn(Path directory) throws IOException {
        if (Files.isRegularFile(directory.resolve(LOCK)) || Files.isRegularFile(directory.resolve(URL_FILE))) {
            return true;
        }
        try (Stream<Path> files = Files.list(directory)) {
            // A new file system has a directory, lost+found, for what its check finds.
            return files.allMatch(file -> file.endsWith("lost+found"));
        }
    }

    private static FileChannel lock(Path directory) {
        Path file = directory.resolve(LOCK);
        FileChannel channel = null;
        try {
            channel = FileChannel.open(
                    file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
            FileLock held = channel.tryLock();
            if (held == null) {
                String owner = Files.readString(file).strip();
                channel.close();
                throw inUse(directory, owner);
            }
            channel.truncate(0);
            channel.write(
                    ByteBuffer.wrap(Long.toString(ProcessHandle.current().pid()).getBytes(StandardCharsets.UTF_8)));
            return channel;
        } catch (OverlappingFileLockException e) {
            // Closing the channel would give up the lock of the database that holds it in this process.
            if (channel != null) {
                KEPT_OPEN.add(channel);
            }
            throw inUse(directory, Long.toString(ProcessHandle.current().pid()));
        } catch (IOException e) {
            release(channel);
            throw new EmbeddedDatabaseException(
                    "The file " + file + " cannot be locked (" + PostgresBinaries.reason(e)
                            + "). Set ANNALS_DATA_DIR to a directory on a file system of this machine.",
                    e);
        }
    }

    private static EmbeddedDatabaseException inUse(Path directory, String owner) {
        return new EmbeddedDatabaseException("Another Annals (process " + owner + ") uses the data directory "
                + directory + ". Stop it first, or give this one a directory of its own with ANNALS_DATA_DIR.");
    }

    private static void release(@Nullable FileChannel lock) {
        if (lock != null) {
            try {
                lock.close();
            } catch (IOException e) {
                LOG.warn("The lock of the data directory could not be released; it goes with this process", e);
            }
        }
    }

    private static void release(ServerSocket drawn) {
        try {
            drawn.close();
        } catch (IOException e) {
            LOG.warn("A port could not be given back; it goes with this process", e);
        }
    }

    private void checkSpace() throws IOException {
        long usable = Files.getFileStore(directory).getUsableSpace();
        if (usable < SPACE_NEEDED_BYTES) {
            throw new EmbeddedDatabaseException("The data directory " + directory + " has " + (usable >> 20)
                    + " MB of free space and a new database needs " + (SPACE_NEEDED_BYTES >> 20)
                    + " MB. Free some, or set ANNALS_DATA_DIR to a directory with more.");
        }
    }

    private void checkVersion() throws IOException {
        Path file = cluster.resolve("PG_VERSION");
        if (!Files.exists(file)) {
            throw new EmbeddedDatabaseException(
                    "The directory " + cluster + " is there but holds no PostgreSQL database"
                            + " (its PG_VERSION is missing). Restore it from a backup, or set ANNALS_DATA_DIR to another"
                            + " directory.");
        }
        String version = Files.readString(file).strip();
        if (!version.equals(Integer.toString(binaries.majorVersion()))) {
            throw new EmbeddedDatabaseException("The database in " + cluster + " was made by PostgreSQL " + version
                    + " and this release brings PostgreSQL " + binaries.majorVersion()
                    + ". Dump it with the release that made it and load it into a new ANNALS_DATA_DIR, or use"
                    + " pg_upgrade.");
        }
    }

    private DatabaseUrl newUrl() {
        byte[] secret = new byte[32];
        new SecureRandom().nextBytes(secret);
        String password = Base64.getUrlEncoder().withoutPadding().encodeToString(secret);
        return new DatabaseUrl(NAME, password, "127.0.0.1", freePort(), NAME, Map.of("sslmode", "disable"));
    }

    private DatabaseUrl rememberedUrl() throws IOException {
        if (!Files.exists(urlFile)) {
            throw new EmbeddedDatabaseException("The file " + urlFile + " is missing, and with it the password of the"
                    + " database in " + cluster + ". Restore it from a backup.");
        }
        try {
            return DatabaseUrl.parse(Files.readString(urlFile).strip());
        } catch (IllegalArgumentException e) {
            throw new EmbeddedDatabaseException("The file " + urlFile + " does not hold the URL of the database in "
                    + cluster + ". Restore it from a backup.");
        }
    }

    private void writeUrlFile() throws IOException {
        writePrivately(urlFile, url.withPassword() + "\n");
    }

    private static void writePrivately(Path file, String text) throws IOException {
        Path partial = file.resolveSibling(file.getFileName() + ".partial");
        Files.deleteIfExists(partial);
        Files.createFile(partial, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        Files.writeString(partial, text, StandardOpenOption.SYNC);
        Files.move(partial, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    // First in a directory of another name, with the password on disk before that: an interrupted start leaves either
    // nothing, or a database that the next start can open.
    private void initialize() throws IOException {
        // initdb gives its own path to a shell, in double quotes.
        Path elsewhere =
                PostgresBinaries.isPlain(binaries.directory()) ? null : Files.createTempDirectory("annals-postgresql-");
        Path partial = directory.resolve("postgresql.partial");
        PostgresBinaries.deleteTree(partial);
        Path passwordFile = directory.resolve("password");
        writePrivately(passwordFile, url.password());
        writeUrlFile();
        List<String> arguments = new ArrayList<>(List.of(
                "--pgdata=" + partial,
                "--username=" + NAME,
                "--pwfile=" + passwordFile,
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C",
                // Sort order and letter case come with PostgreSQL, not from an operating system that may be upgraded.
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
                "--data-checksums"));
        INITIAL_SETTINGS.forEach(setting -> arguments.addAll(List.of("--set", setting)));
        try {
            PostgresBinaries plain = elsewhere == null ? binaries : PostgresBinaries.unpack(elsewhere);
            PostgresBinaries.Outcome outcome = plain.initialize(INITIALIZE_LIMIT, arguments);
            if (outcome.exitCode() != 0) {
                throw new EmbeddedDatabaseException("A new database could not be made in " + directory + " ("
                        + complaint(outcome.output()) + "). Check its free space and permissions, or set"
                        + " ANNALS_DATABASE_URL to use another PostgreSQL.");
            }
            Files.move(partial, cluster, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(passwordFile);
            PostgresBinaries.deleteTree(partial);
            if (elsewhere != null) {
                PostgresBinaries.deleteTree(elsewhere);
            }
        }
    }

    private void writeAccessRules() throws IOException {
        Files.writeString(cluster.resolve("pg_hba.conf"), """
                # Written by Annals at every start: only from this machine, only with the password.
                host all all 127.0.0.1/32 scram-sha-256
                """);
    }

    private synchronized void startServer(boolean mayChangePort) throws IOException {
        if (closed) {
            return;
        }
        PostgresBinaries.Outcome outcome = new PostgresBinaries.Outcome(0, "");
        String log = "";
        for (int attempt = 1; attempt <= START_ATTEMPTS; attempt++) {
            // At each attempt again: another process may take the port before the server starts.
            if (mayChangePort && (portsOfTheService.contains(url.port()) || !isFree(url.port()))) {
                url = new DatabaseUrl(
                        url.user(), url.password(), url.host(), freePort(), url.database(), url.parameters());
            }
            replaceForeignPid();
            Path startLog = directory.resolve("start.log");
            Files.deleteIfExists(startLog);
            outcome = startServer(startLog);
            log = Files.exists(startLog) ? Files.readString(startLog) : "";
            if (outcome.exitCode() == 0) {
                restartWhenItDies();
                return;
            }
            // The processes of a server that was killed take a moment to notice; until then the next one may not start.
            pause(PAUSE_BETWEEN_ATTEMPTS);
        }
        throw new EmbeddedDatabaseException("The embedded PostgreSQL in " + directory + " does not start ("
                + complaint(log + "\n" + newestServerLog() + "\n" + outcome.output()) + "). There is more in "
                + cluster.resolve("log") + "; its data are untouched.");
    }

    // Done as soon as it is ready, or pg_ctl knows that it does not start. Alone, pg_ctl would notice late: it looks
    // ten times a second, and a start takes little more than a tenth.
    private PostgresBinaries.Outcome startServer(Path log) {
        String before = pidFile();
        CompletableFuture<PostgresBinaries.Outcome> start = new CompletableFuture<PostgresBinaries.Outcome>()
                .completeAsync(
                        () -> binaries.run(
                                directory,
                                START_LIMIT.plusSeconds(10),
                                "pg_ctl",
                                "start",
                                "-p",
                                forShell(binaries.directory().resolve("bin/postgres")),
                                "--pgdata=" + forShell(cluster),
                                "--wait",
                                "--timeout=" + START_LIMIT.toSeconds(),
                                "--silent",
                                "--log=" + forShell(log),
                                "--options=" + serverOptions()),
                        EmbeddedDatabase::runBeside);
        while (!start.isDone()) {
            String now = pidFile();
            if (!now.equals(before)
                    && now.lines().skip(STATUS_LINE).findFirst().orElse("").startsWith("ready")) {
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

    /** A path that pg_ctl gives to a shell, in double quotes; it runs in the data directory. */
    private String forShell(Path path) {
        return (PostgresBinaries.isPlain(path) ? path : directory.relativize(path)).toString();
    }

    private static void runBeside(Runnable command) {
        Thread thread = new Thread(command, "annals-embedded-database-start");
        thread.setDaemon(true);
        thread.start();
    }

    /** What PostgreSQL says of itself while it runs; empty if there is nothing to be read. */
    private String pidFile() {
        try {
            return Files.readString(cluster.resolve("postmaster.pid"));
        } catch (IOException e) {
            return "";
        }
    }

    private String serverOptions() {
        StringBuilder options = new StringBuilder("-p ").append(url.port());
        FIXED_SETTINGS.forEach((name, value) ->
                options.append(" -c ").append(name).append('=').append(value.isEmpty() ? "''" : value));
        return options.toString();
    }

    // The last error is what stopped it.
    private static String complaint(String output) {
        List<String> complaints = output.lines()
                .filter(line -> line.contains("FATAL:") || line.contains("PANIC:") || line.contains("error:"))
                .map(line -> line.replaceFirst("^.*?(FATAL|PANIC|error): +", ""))
                .toList();
        return complaints.isEmpty() ? PostgresBinaries.firstLine(output) : complaints.get(complaints.size() - 1);
    }

    private String newestServerLog() throws IOException {
        Path logs = cluster.resolve("log");
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
            ByteBuffer end = ByteBuffer.allocate((int) Math.min(channel.size(), 16_384));
            channel.read(end, channel.size() - end.capacity());
            return new String(end.array(), StandardCharsets.UTF_8);
        }
    }

    private void restartWhenItDies() throws IOException {
        Optional<ProcessHandle> server = runningServer();
        if (server.isPresent()) {
            CompletableFuture<Void> unused = server.get().onExit().thenRunAsync(this::restart);
        }
    }

    private void restart() {
        while (!isClosed()) {
            LOG.error("The embedded PostgreSQL has ended unexpectedly; starting it again");
            try {
                startServer(false);
                return;
            } catch (IOException | EmbeddedDatabaseException e) {
                LOG.error("The embedded PostgreSQL could not be started again; trying once more soon", e);
                pause(PAUSE_BETWEEN_RESTARTS);
            }
        }
    }

    private synchronized boolean isClosed() {
        return closed;
    }

    // A server whose service was killed. Stopping it costs less than a second, and the new one is sure to have this
    // release's settings.
    private void stopOrphan() throws IOException {
        if (runningServer().isPresent()) {
            LOG.info("The last service on this directory was killed; stopping the PostgreSQL that it left behind");
            stopServer();
        }
    }

    private void stopServer() {
        for (String mode : List.of("fast", "immediate")) {
            PostgresBinaries.Outcome outcome = binaries.run(
                    directory,
                    STOP_LIMIT.plusSeconds(10),
                    "pg_ctl",
                    "stop",
                    "--pgdata=" + cluster,
                    "--mode=" + mode,
                    "--wait",
                    "--timeout=" + STOP_LIMIT.toSeconds(),
                    "--silent");
            if (outcome.exitCode() == 0) {
                return;
            }
            LOG.warnf(
                    "The embedded PostgreSQL did not stop in the %s way: %s",
                    mode, PostgresBinaries.firstLine(outcome.output()));
        }
    }

    /** The server that runs on this directory, whoever started it. */
    private Optional<ProcessHandle> runningServer() throws IOException {
        return recordedPid()
                .flatMap(ProcessHandle::of)
                .filter(ProcessHandle::isAlive)
                .filter(this::servesThisDirectory);
    }

    private Optional<Long> recordedPid() throws IOException {
        Path file = cluster.resolve("postmaster.pid");
        if (!Files.exists(file)) {
            return Optional.empty();
        }
        try (var lines = Files.lines(file)) {
            return lines.findFirst()
                    .map(String::strip)
                    .filter(s -> s.matches("\\d{1,10}"))
                    .map(Long::valueOf);
        }
    }

    // After a reboot, or in a container, the number in the pid file may belong to any other process.
    private boolean servesThisDirectory(ProcessHandle process) {
        String[] arguments = process.info().arguments().orElse(new String[0]);
        return Arrays.asList(arguments).contains(cluster.toString())
                || Arrays.asList(arguments).contains("--pgdata=" + cluster)
                || isWorkingDirectoryOf(process);
    }

    private boolean isWorkingDirectoryOf(ProcessHandle process) {
        Path workingDirectory = Path.of("/proc", Long.toString(process.pid()), "cwd");
        try {
            return Files.exists(workingDirectory) && Files.isSameFile(workingDirectory, cluster);
        } catch (IOException e) {
            return false;
        }
    }

    // PostgreSQL will not start while the process named in its pid file is alive, whatever process that is. Only the
    // number is replaced: from the file's other lines PostgreSQL still finds processes that a killed server left
    // behind.
    private void replaceForeignPid() throws IOException {
        Optional<Long> pid = recordedPid();
        boolean foreign =
                pid.flatMap(ProcessHandle::of).filter(ProcessHandle::isAlive).isPresent()
                        && runningServer().isEmpty();
        if (foreign) {
            Path file = cluster.resolve("postmaster.pid");
            String text = Files.readString(file);
            int end = Math.max(text.indexOf('\n'), 0);
            writePrivately(file, NOBODYS_PID + text.substring(end));
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
                    "The embedded PostgreSQL in " + directory + " runs but refuses its own service (" + e.getMessage()
                            + "). Restore " + urlFile + " from a backup if its password was changed.",
                    e);
        }
    }

    private static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket()) {
            // As PostgreSQL does; otherwise connections that have just ended would keep it from the port.
            socket.setReuseAddress(true);
            socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    private int freePort() {
        // A port that must not be used is held while the next one is drawn, so that it is not drawn again.
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

    private static void pause(Duration duration) {
        try {
            TimeUnit.MILLISECONDS.sleep(duration.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new EmbeddedDatabaseException("Waiting for the embedded PostgreSQL was interrupted.", e);
        }
    }
}
