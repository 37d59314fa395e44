package dev.annals.tools.embedded;

import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.database.DatabaseUrl;
import java.io.IOException;
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
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;
import org.eclipse.microprofile.config.Config;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * The directory of an embedded database, locked for this process until {@link #close}.
 *
 * <pre>
 * annals.lock              locked while a service uses the directory; contains its process id
 * database-url             the URL with the password, for the next start and for psql "$(cat data/database-url)"
 * postgresql/              PostgreSQL's data directory, with its log
 * postgresql-binaries-…/   its programs
 * postgresql.partial/      a data directory that initdb has not finished; the next start deletes it
 * </pre>
 *
 * <p>A directory is <em>new</em> until {@link #initialize} has renamed postgresql.partial to postgresql. The password is on disk
 * before that, so an interrupted start leaves a new directory or a complete one. A directory with other files and neither annals.lock
 * nor database-url is refused untouched.
 *
 * <p>Methods throw {@link EmbeddedDatabaseException} with one sentence that names the fault and the remedy.
 */
final class DataDirectory implements AutoCloseable {

    static final String LOCK = "annals.lock";
    static final String URL_FILE = "database-url";
    /** The URL of a database that was copied into another one, or whose copy was cut off at its commit. */
    static final String COPIED_URL_FILE = "database-url.copied";

    static final String CLUSTER = "postgresql";

    private static final Logger LOG = Logger.getLogger(DataDirectory.class);
    private static final Duration INITIALIZE_LIMIT = Duration.ofMinutes(2);
    private static final long SPACE_NEEDED_BYTES = 200L << 20;

    /** initdb writes them into postgresql.conf, which the owner may edit: fit for a machine with 1 or 2 GB of memory. */
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

    /** Channels that must stay open until the process ends: see {@link #lock}. */
    private static final Queue<FileChannel> KEPT_OPEN = new ConcurrentLinkedQueue<>();

    private final Path root;
    private final FileChannel lock;

    private DataDirectory(Path root, FileChannel lock) {
        this.root = root;
        this.lock = lock;
    }

    /** The directory that the settings name. */
    static Path configured(Config config) {
        return config.getOptionalValue("annals.data-dir", Path.class).orElse(Path.of(AnnalsConfig.DEFAULT_DATA_DIR));
    }

    /** Locks a directory, and creates it if it is missing. Only its user can read it afterwards. */
    static DataDirectory open(Path directory) {
        Path root = prepare(directory);
        return new DataDirectory(root, lock(root));
    }

    private static Path prepare(Path directory) {
        Path absolute = directory.toAbsolutePath().normalize();
        if (absolute.toString().chars().anyMatch(c -> c < ' ')) {
            throw new EmbeddedDatabaseException(
                    "The name of the data directory " + absolute.toString().replaceAll("\\p{Cntrl}", "?")
                            + " contains a line break or another control character, which PostgreSQL's files cannot store. Set"
                            + " ANNALS_DATA_DIR to another directory.");
        }
        try {
            if (!Files.isDirectory(absolute)) {
                Files.createDirectories(absolute);
            } else if (!isOwn(absolute)) {
                throw new EmbeddedDatabaseException("The data directory " + absolute
                        + " contains files but no database of Annals. Annals does not touch it. Set ANNALS_DATA_DIR to an empty"
                        + " directory, or to one that does not exist.");
            }
            // A Kubernetes volume belongs to root and its group. PostgreSQL's own directory in it belongs to the user
            // alone.
            if (!Files.getAttribute(absolute, "unix:uid").equals(0)
                    || PostgresBinaries.userId().equals(Optional.of(0))) {
                Files.setPosixFilePermissions(absolute, PosixFilePermissions.fromString("rwx------"));
            }
            // The server reports the real path of its directory.
            return absolute.toRealPath();
        } catch (IOException e) {
            throw new EmbeddedDatabaseException(
                    "The data directory " + absolute + " cannot be created or written (" + PostgresBinaries.reason(e)
                            + "). Set ANNALS_DATA_DIR to a directory that user " + System.getProperty("user.name")
                            + " can write, or ANNALS_DATABASE_URL to use another PostgreSQL.",
                    e);
        }
    }

    // The lock is the first file in it, and a backup contains the URL.
    private static boolean isOwn(Path directory) throws IOException {
        return Files.isRegularFile(directory.resolve(LOCK))
                || Files.isRegularFile(directory.resolve(URL_FILE))
                || isEmpty(directory);
    }

    /** A new file system contains lost+found. */
    static boolean isEmpty(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.allMatch(file -> file.endsWith("lost+found"));
        }
    }

    private static FileChannel lock(Path root) {
        Path file = root.resolve(LOCK);
        FileChannel channel = null;
        try {
            channel = FileChannel.open(
                    file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
            FileLock held = channel.tryLock();
            if (held == null) {
                String owner = Files.readString(file).strip();
                channel.close();
                throw inUse(root, owner);
            }
            channel.truncate(0);
            channel.write(
                    ByteBuffer.wrap(Long.toString(ProcessHandle.current().pid()).getBytes(StandardCharsets.UTF_8)));
            return channel;
        } catch (OverlappingFileLockException e) {
            // Another database of this process has the lock. POSIX drops it when the process closes any channel of the
            // file, as
            // the garbage collector would.
            if (channel != null) {
                KEPT_OPEN.add(channel);
            }
            throw inUse(root, Long.toString(ProcessHandle.current().pid()));
        } catch (IOException e) {
            release(channel);
            throw new EmbeddedDatabaseException(
                    "The file " + file + " cannot be locked (" + PostgresBinaries.reason(e)
                            + "). Set ANNALS_DATA_DIR to a directory on a local file system.",
                    e);
        }
    }

    private static EmbeddedDatabaseException inUse(Path root, String owner) {
        return new EmbeddedDatabaseException("Another Annals (process " + owner + ") uses the data directory " + root
                + ". Stop that process, or set ANNALS_DATA_DIR to another directory.");
    }

    private static void release(@Nullable FileChannel lock) {
        if (lock != null) {
            try {
                lock.close();
            } catch (IOException e) {
                LOG.warn("Cannot release the lock of the data directory. It ends with this process.", e);
            }
        }
    }

    /** Releases the lock. Repeated calls do nothing. */
    @Override
    public void close() {
        release(lock);
    }

    /** The real path. */
    Path root() {
        return root;
    }

    /** PostgreSQL's data directory. */
    Path cluster() {
        return root.resolve(CLUSTER);
    }

    /** True if no database was created here. */
    boolean isNew() {
        return !Files.exists(cluster());
    }

    void requireSpace() throws IOException {
        long usable = Files.getFileStore(root).getUsableSpace();
        if (usable < SPACE_NEEDED_BYTES) {
            throw new EmbeddedDatabaseException("The data directory " + root + " has " + (usable >> 20)
                    + " MB of free space and a new database needs " + (SPACE_NEEDED_BYTES >> 20)
                    + " MB. Free some, or set ANNALS_DATA_DIR to a directory with more.");
        }
    }

    void requireVersion(int majorVersion) throws IOException {
        Path file = cluster().resolve("PG_VERSION");
        if (!Files.exists(file)) {
            throw new EmbeddedDatabaseException("The directory " + cluster()
                    + " exists but contains no PostgreSQL database (its PG_VERSION is missing). Restore it from a backup, or set"
                    + " ANNALS_DATA_DIR to another directory.");
        }
        String version = Files.readString(file).strip();
        if (!version.equals(Integer.toString(majorVersion))) {
            throw new EmbeddedDatabaseException("The database in " + cluster() + " was made by PostgreSQL " + version
                    + " and this release brings PostgreSQL " + majorVersion
                    + ". Copy it with annals copy of the release that made it into a PostgreSQL of your own, or use"
                    + " pg_upgrade.");
        }
    }

    /** Reads the owner's URL, with its password. */
    static DatabaseUrl readUrl(Path root) {
        Path file = root.resolve(URL_FILE);
        if (!Files.exists(file) && Files.exists(root.resolve(COPIED_URL_FILE))) {
            throw new EmbeddedDatabaseException("The database in " + root
                    + " was copied into another one: name that in ANNALS_DATABASE_URL. Only if"
                    + " annals copy was cut off and left that one empty, rename " + COPIED_URL_FILE + " to " + URL_FILE
                    + ", and copy again.");
        }
        if (!Files.exists(file)) {
            throw new EmbeddedDatabaseException("The file " + file
                    + " is missing. It contains the password of the database. Restore it from a backup.");
        }
        try {
            return DatabaseUrl.parse(Files.readString(file).strip());
        } catch (IOException e) {
            throw new EmbeddedDatabaseException(
                    "The file " + file + " cannot be read (" + PostgresBinaries.reason(e)
                            + "). Run the command as the user of the service.",
                    e);
        } catch (IllegalArgumentException e) {
            throw new EmbeddedDatabaseException(
                    "The file " + file + " does not contain the URL of the database. Restore it from a backup.", e);
        }
    }

    /** Only the owner can read the file. */
    void writeUrl(DatabaseUrl url) throws IOException {
        writePrivately(root.resolve(URL_FILE), url.withPassword() + "\n");
    }

    /** Replaces a file at once by one that only the owner can read, and that is on disk. */
    static void writePrivately(Path file, String text) throws IOException {
        Path partial = file.resolveSibling(file.getFileName() + ".partial");
        Files.deleteIfExists(partial);
        Files.createFile(partial, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        Files.writeString(partial, text, StandardOpenOption.SYNC);
        Files.move(partial, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    /** Creates PostgreSQL's data directory, with the URL's user and password as its owner. */
    void initialize(PostgresBinaries binaries, DatabaseUrl url) throws IOException {
        // initdb passes its own path to a shell, in double quotes.
        Path elsewhere =
                PostgresBinaries.isPlain(binaries.directory()) ? null : Files.createTempDirectory("annals-postgresql-");
        Path partial = root.resolve(CLUSTER + ".partial");
        PostgresBinaries.deleteTree(partial);
        Path passwordFile = root.resolve("password");
        writePrivately(passwordFile, url.password());
        writeUrl(url);
        List<String> arguments = new ArrayList<>(List.of(
                "--pgdata=" + partial,
                "--username=" + url.user(),
                "--pwfile=" + passwordFile,
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C",
                // PostgreSQL's own sort order and letter case do not change when the operating system is upgraded.
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
                "--data-checksums"));
        INITIAL_SETTINGS.forEach(setting -> arguments.addAll(List.of("--set", setting)));
        try {
            PostgresBinaries plain = elsewhere == null ? binaries : PostgresBinaries.unpack(elsewhere);
            PostgresBinaries.Outcome outcome = plain.initialize(INITIALIZE_LIMIT, arguments);
            if (outcome.exitCode() != 0) {
                throw new EmbeddedDatabaseException("A new database could not be created in " + root + " ("
                        + outcome.complaint() + "). Check its free space and permissions, or set"
                        + " ANNALS_DATABASE_URL to use another PostgreSQL.");
            }
            Files.move(partial, cluster(), StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(passwordFile);
            PostgresBinaries.deleteTree(partial);
            if (elsewhere != null) {
                PostgresBinaries.deleteTree(elsewhere);
            }
        }
    }

    void writeAccessRules() throws IOException {
        Files.writeString(cluster().resolve("pg_hba.conf"), """
                # Written by Annals at every start: only from this machine, only with the password.
                host all,replication all 127.0.0.1/32 scram-sha-256
                """);
    }
}
