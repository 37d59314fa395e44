package dev.annals.tools.embedded;

import dev.annals.AuditLogFixture;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.DatabaseUrlConfigSource;
import io.quarkus.test.common.QuarkusTestResourceLifecycleManager;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.flywaydb.core.Flyway;

/**
 * One PostgreSQL for all tests of a JVM, with a fresh database: an embedded one in a temporary directory, or the
 * external one (15 to 18) that {@code ANNALS_TEST_DATABASE_URL} names. For a test that starts the application, add
 * {@code @QuarkusTestResource(TestDatabase.class)}; others call {@link #url()} or {@link #createDatabase()}.
 */
public final class TestDatabase implements QuarkusTestResourceLifecycleManager {

    /** PostgreSQL's programs, unpacked once for all tests and all test runs of a checkout. */
    static final Path BINARIES = Path.of("target", "test-postgresql").toAbsolutePath();

    /** Linux' file system in memory. */
    private static final Path MEMORY = Path.of("/dev/shm");

    /** Several times what the tests write. */
    private static final long MEMORY_NEEDED_BYTES = 8L << 30;

    // A system property, because Quarkus loads this class more than once in a JVM. Names that begin with annals are
    // settings of the service, which refuses those that it does not know.
    private static final String URL_PROPERTY = "test-database.url";

    // Some tests end any connections of the application's database: databases are made from another one.
    private static final String SERVER_PROPERTY = "test-database.server";

    private static final String TEMPLATE_PROPERTY = "test-database.template";

    @Override
    public Map<String, String> start() {
        // The packaged service, too, gets these; it does not see the tests' application.properties.
        return Map.of(
                DatabaseUrlConfigSource.DATABASE_URL,
                url().withPassword(),
                "annals.admin-token",
                AuditLogFixture.ADMIN_TOKEN,
                "annals.log.key",
                AuditLogFixture.LOG_KEY,
                "annals.streams.key",
                AuditLogFixture.STREAMS_KEY,
                // The receivers of tests. Other sinks on this machine are refused, as by default.
                "annals.streams.allowed-hosts",
                "*,127.0.0.1",
                "annals.management.port",
                "0",
                "annals.logging.requests",
                "false");
    }

    /** The application's database outlives it: tests of the next application in this JVM go on with it. */
    @Override
    public void stop() {}

    /** The database that the application under test uses. */
    public static DatabaseUrl url() {
        synchronized (System.getProperties()) {
            String known = System.getProperty(URL_PROPERTY);
            if (known == null) {
                known = startServer().withPassword();
                System.setProperty(URL_PROPERTY, known);
            }
            return DatabaseUrl.parse(known);
        }
    }

    /**
     * Puts PostgreSQL's programs where a service with this data directory looks for them. To unpack them takes it more than
     * all the rest of its start.
     */
    public static void sharePrograms(Path dataDirectory) throws IOException {
        Files.createDirectories(BINARIES);
        Path programs = PostgresBinaries.unpack(BINARIES).directory();
        Files.createSymbolicLink(Files.createDirectories(dataDirectory).resolve(programs.getFileName()), programs);
        // Marks the directory as the service's own.
        Files.createFile(dataDirectory.resolve(DataDirectory.LOCK));
    }

    /** Uses the database of another JVM's tests, in a process that these start. */
    public static void use(String urlWithPassword) {
        System.setProperty(URL_PROPERTY, urlWithPassword);
    }

    /** Another database on the same server, empty, gone with the JVM. */
    public static DatabaseUrl createDatabase() {
        return createDatabase(server());
    }

    /** The same with the service's schema in it. */
    public static DatabaseUrl createMigratedDatabase() {
        return createDatabase(server(), " template " + template());
    }

    private static DatabaseUrl server() {
        url();
        return DatabaseUrl.parse(System.getProperty(SERVER_PROPERTY));
    }

    /** The name of a database that has the schema and nothing else. No connection to it stays open, so that it can be copied. */
    private static String template() {
        synchronized (System.getProperties()) {
            String known = System.getProperty(TEMPLATE_PROPERTY);
            if (known == null) {
                DatabaseUrl template = createDatabase();
                migrate(template);
                known = template.database();
                System.setProperty(TEMPLATE_PROPERTY, known);
            }
            return known;
        }
    }

    /** Brings in the service's schema, as its {@code migrate} does. */
    public static void migrate(DatabaseUrl database) {
        Flyway.configure()
                .dataSource(database.jdbcUrl(), database.user(), database.password())
                .schemas("annals")
                .defaultSchema("annals")
                .createSchemas(true)
                .load()
                .migrate();
    }

    private static DatabaseUrl startServer() {
        String external = System.getenv("ANNALS_TEST_DATABASE_URL");
        if (external != null && !external.isBlank()) {
            System.setProperty(SERVER_PROPERTY, external.strip());
            return createDatabase(DatabaseUrl.parse(external.strip()));
        }
        try {
            Files.createDirectories(BINARIES);
            Path directory = newDirectory();
            try (EmbeddedDatabase initial = EmbeddedDatabase.start(directory, BINARIES, Set.of())) {
                // Tests with several instances and databases run beside each other.
                execute(initial.url(), "alter system set max_connections = 400");
            }
            EmbeddedDatabase database = EmbeddedDatabase.start(directory, BINARIES, Set.of());
            atExit(() -> {
                database.close();
                deleteTree(directory);
            });
            makeLoginsCheap(database.url());
            spareTheProcessor(database.url());
            System.setProperty(
                    SERVER_PROPERTY, database.url().withDatabase("postgres").withPassword());
            return database.url();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The thousands of hashes behind a password would take a tenth of all the tests' time. */
    private static void makeLoginsCheap(DatabaseUrl url) {
        execute(url, "set scram_iterations = 1; alter role " + url.user() + " password '" + url.password() + "'");
    }

    /**
     * Settings that change no answer. Compressing whole pages in the write-ahead log costs more time than it saves here, and so does
     * an autovacuum process every minute for each of two hundred databases.
     */
    private static void spareTheProcessor(DatabaseUrl url) {
        execute(url, "alter system set wal_compression = off");
        execute(url, "alter system set autovacuum_naptime = '5min'");
        execute(url, "select pg_reload_conf()");
    }

    /**
     * In memory where there is much of it: on a disk each of the tests' many commits waits for a write, and no test of this
     * database cuts the power.
     */
    static Path newDirectory() throws IOException {
        boolean inMemory =
                Files.isWritable(MEMORY) && Files.getFileStore(MEMORY).getUsableSpace() >= MEMORY_NEEDED_BYTES;
        return inMemory ? Files.createTempDirectory(MEMORY, "annals-test-") : Files.createTempDirectory("annals-test-");
    }

    private static DatabaseUrl createDatabase(DatabaseUrl server) {
        return createDatabase(server, "");
    }

    private static DatabaseUrl createDatabase(DatabaseUrl server, String options) {
        String name = "annals_test_" + UUID.randomUUID().toString().replace("-", "");
        execute(server, "create database " + name + options);
        if (System.getenv("ANNALS_TEST_DATABASE_URL") != null) {
            atExit(() -> execute(server, "drop database " + name + " with (force)"));
        }
        return server.withDatabase(name);
    }

    private static void execute(DatabaseUrl url, String sql) {
        try (Connection connection = url.connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        } catch (SQLException e) {
            throw new IllegalStateException(sql + " on " + url, e);
        }
    }

    private static void atExit(Runnable action) {
        Runtime.getRuntime().addShutdownHook(new Thread(action));
    }

    static void deleteTree(Path root) {
        try {
            PostgresBinaries.deleteTree(root);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
