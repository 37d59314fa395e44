package dev.annals.tools.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.annals.Await;
import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.kernel.database.DatabaseUrl;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Each claim of the embedded database, with real servers, real processes and real kills. */
@BesideTheService
@Timeout(120)
class EmbeddedDatabaseTest {

    /** One for most tests: they start and stop it, and making a new database costs more than all the rest. */
    private static Path shared;

    private Path directory;
    private final List<Process> owners = new ArrayList<>();

    @BeforeAll
    static void makeSharedDirectory() throws IOException {
        Files.createDirectories(TestDatabase.BINARIES);
        shared = Files.createTempDirectory("annals-embedded-");
    }

    @AfterAll
    static void deleteSharedDirectory() {
        TestDatabase.deleteTree(shared);
    }

    @BeforeEach
    void useSharedDirectory() {
        directory = shared;
    }

    @AfterEach
    void leaveNothing() throws Exception {
        for (Process owner : owners) {
            owner.destroyForcibly().waitFor();
        }
        if (Files.exists(directory.resolve("postgresql/postmaster.pid"))) {
            // Whatever a test leaves running, the next start on the directory stops.
            start().close();
        }
        if (!directory.equals(shared)) {
            TestDatabase.deleteTree(directory);
        }
    }

    @Test
    void recordsSurviveARestartAndTheUrlStaysTheSame() throws Exception {
        DatabaseUrl first;
        try (EmbeddedDatabase database = start()) {
            first = database.url();
            SqlFixture.on(first).run("drop table if exists kept; create table kept as select 42 as answer");
        }
        try (EmbeddedDatabase database = start()) {
            assertThat(database.url()).isEqualTo(first);
            assertThat(query(database.url(), "select answer from kept")).isEqualTo("42");
        }
    }

    @Test
    void aCommitIsOnDiskWhenItReturns() throws Exception {
        try (EmbeddedDatabase database = start()) {
            assertThat(query(database.url(), "show fsync")).isEqualTo("on");
            assertThat(query(database.url(), "show synchronous_commit")).isEqualTo("on");
            assertThat(query(database.url(), "show full_page_writes")).isEqualTo("on");
            assertThat(query(database.url(), "show data_checksums")).isEqualTo("on");
            assertThat(query(database.url(), "show max_prepared_transactions")).isEqualTo("0");
        }
    }

    @Test
    void aConnectionWithoutThePasswordIsRefused() throws Exception {
        try (EmbeddedDatabase database = start()) {
            String jdbc = database.url().jdbcUrl();
            assertThatThrownBy(() -> DriverManager.getConnection(jdbc, "annals", "wrong"))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("password authentication failed");
            assertThatThrownBy(() -> DriverManager.getConnection(jdbc + "&user=annals"))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("no password was provided");
            assertThat(query(
                            database.url(),
                            "select count(*) from pg_hba_file_rules where auth_method <> 'scram-sha-256'"))
                    .isEqualTo("0");
            assertThat(query(database.url(), "select count(*) from pg_hba_file_rules where address <> '127.0.0.1'"))
                    .isEqualTo("0");
        }
    }

    @Test
    void onlyTheOwnerCanReadThePassword() throws Exception {
        try (EmbeddedDatabase database = start()) {
            Path file = directory.resolve("database-url");
            assertThat(Files.readString(file).strip()).isEqualTo(database.url().withPassword());
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                    .isEqualTo("rw-------");
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(directory)))
                    .isEqualTo("rwx------");
            assertThat(directory.resolve("password")).doesNotExist();
        }
    }

    @Test
    void thereIsNoSocketButTheOneOnTheLoopbackAddress() throws Exception {
        try (EmbeddedDatabase database = start()) {
            int port = database.url().port();
            assertThat(Path.of("/tmp/.s.PGSQL." + port)).doesNotExist();
            assertThat(Path.of(System.getProperty("java.io.tmpdir"), ".s.PGSQL." + port))
                    .doesNotExist();
            assertThat(query(database.url(), "show unix_socket_directories")).isEmpty();
            for (InetAddress address : otherAddresses()) {
                try (Socket socket = new Socket()) {
                    assertThatThrownBy(() -> socket.connect(new InetSocketAddress(address, port), 2_000))
                            .as("a connection to %s", address)
                            .isInstanceOf(IOException.class);
                }
            }
        }
    }

    /** A server whose service was killed. */
    private ProcessHandle orphanWithATable() throws Exception {
        Process owner = startInAnotherProcess();
        DatabaseUrl url = DatabaseUrl.parse(
                Files.readString(directory.resolve("database-url")).strip());
        SqlFixture.on(url).run("drop table if exists kept; create table kept as select 42 as answer");
        ProcessHandle server = server();
        owner.destroyForcibly().waitFor();
        assertThat(server.isAlive()).as("the server outlives its service").isTrue();
        return server;
    }

    @Test
    @TakesLong
    void aKilledServiceDoesNotBlockTheNextStart() throws Exception {
        ProcessHandle orphan = orphanWithATable();

        Instant before = Instant.now();
        try (EmbeddedDatabase database = start()) {
            assertThat(Duration.between(before, Instant.now())).isLessThan(Duration.ofSeconds(15));
            assertThat(orphan.onExit()).succeedsWithin(Duration.ofSeconds(10));
            assertThat(query(database.url(), "select answer from kept")).isEqualTo("42");
        }
    }

    @Test
    void aKilledServiceAndAKilledServerDoNotBlockTheNextStart() throws Exception {
        ProcessHandle orphan = orphanWithATable();
        orphan.destroyForcibly();

        try (EmbeddedDatabase database = start()) {
            assertThat(query(database.url(), "select answer from kept")).isEqualTo("42");
        }
    }

    @Test
    void aKilledServerIsStartedAgainOnTheSamePort() throws Exception {
        try (EmbeddedDatabase database = start()) {
            SqlFixture.on(database.url()).run("drop table if exists kept; create table kept as select 42 as answer");
            ProcessHandle killed = server();
            // A session that is in the middle of something keeps the shared memory of the killed server a moment
            // longer.
            try (Connection open = database.url().connect();
                    Statement statement = open.createStatement()) {
                open.setAutoCommit(false);
                statement.execute("select answer from kept");
                killed.destroyForcibly();
                killed.onExit().get(10, TimeUnit.SECONDS);
            } catch (SQLException e) {
                assertThat(killed.isAlive()).isFalse();
            }
            assertThat(whenItAnswers(database.url(), "select answer from kept")).isEqualTo("42");
        }
    }

    @Test
    void aPidFileThatNamesAnotherProcessDoesNotBlockTheStart() throws Exception {
        start().close();
        long mine = ProcessHandle.current().pid();
        Files.writeString(
                directory.resolve("postgresql/postmaster.pid"),
                mine + "\n" + directory.resolve("postgresql")
                        + "\n1700000000\n1\n\n127.0.0.1\n        0         0\nready\n");

        try (EmbeddedDatabase database = start()) {
            assertThat(query(database.url(), "select 1")).isEqualTo("1");
        }
        assertThat(ProcessHandle.current().isAlive()).isTrue();
    }

    @Test
    void aSecondServiceOnTheSameDirectoryIsRefused() throws Exception {
        Process owner = startInAnotherProcess();

        assertThatThrownBy(this::start)
                .isInstanceOf(EmbeddedDatabaseException.class)
                .hasMessageContaining("Another Annals (process " + owner.pid() + ")")
                .hasMessageContaining("ANNALS_DATA_DIR");
        assertThat(server().isAlive()).isTrue();
    }

    @Test
    void aSecondDatabaseInTheSameProcessIsRefusedAndTheFirstRunsOn() throws Exception {
        try (EmbeddedDatabase database = start()) {
            assertThatThrownBy(this::start).hasMessageContaining("Another Annals");
            assertThat(query(database.url(), "select 1")).isEqualTo("1");
            assertThatThrownBy(this::startInAnotherProcess).hasMessageContaining("Another Annals");
        }
    }

    @Test
    void aTakenPortIsReplacedByAnother() throws Exception {
        DatabaseUrl first;
        try (EmbeddedDatabase database = start()) {
            first = database.url();
        }
        try (ServerSocket taken = new ServerSocket(first.port(), 1, InetAddress.getLoopbackAddress());
                EmbeddedDatabase database = start()) {
            assertThat(database.url().port()).isNotEqualTo(taken.getLocalPort());
            assertThat(query(database.url(), "select 1")).isEqualTo("1");
        }
    }

    @Test
    void theDatabaseAvoidsThePortsOfItsService() throws Exception {
        DatabaseUrl first;
        try (EmbeddedDatabase database = start()) {
            first = database.url();
        }
        try (EmbeddedDatabase database =
                EmbeddedDatabase.start(directory, TestDatabase.BINARIES, Set.of(first.port()))) {
            assertThat(database.url().port()).isNotEqualTo(first.port());
            assertThat(query(database.url(), "select 1")).isEqualTo("1");
        }
    }

    @Test
    void aDirectoryWithOtherFilesIsRefusedUntouched() throws Exception {
        directory = Files.createTempDirectory("annals-embedded-");
        Path file = Files.createFile(directory.resolve("letters"));
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));

        assertThatThrownBy(this::start)
                .isInstanceOf(EmbeddedDatabaseException.class)
                .hasMessageContaining(directory.toString())
                .hasMessageContaining("ANNALS_DATA_DIR");

        assertThat(directory).isDirectoryContaining(file::equals);
        assertThat(directory.toFile().list()).hasSize(1);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(directory)))
                .isEqualTo("rwxr-xr-x");
    }

    @Test
    void anEmptyFileSystemOfItsOwnIsTaken() throws Exception {
        directory = Files.createTempDirectory("annals-embedded-");
        Files.createDirectory(directory.resolve("lost+found"));

        try (EmbeddedDatabase database = start()) {
            assertThat(query(database.url(), "select 1")).isEqualTo("1");
        }
    }

    @Test
    void aDatabaseOfAnotherPostgresVersionIsRefusedUntouched() throws Exception {
        start().close();
        Path version = directory.resolve("postgresql/PG_VERSION");
        Files.writeString(version, "15\n");

        assertThatThrownBy(this::start)
                .isInstanceOf(EmbeddedDatabaseException.class)
                .hasMessageContaining("was made by PostgreSQL 15 and this release brings PostgreSQL 18");

        Files.writeString(version, "18\n");
        start().close();
    }

    @Test
    void aDirectoryThatCannotBeWrittenIsNamed() throws Exception {
        directory = Files.createTempDirectory("annals-embedded-");
        Path file = Files.createFile(directory.resolve("file"));
        for (Path wrong : List.of(file, file.resolve("below"), Path.of("/proc/annals"))) {
            assertThatThrownBy(() -> EmbeddedDatabase.start(wrong, TestDatabase.BINARIES, Set.of()))
                    .isInstanceOf(EmbeddedDatabaseException.class)
                    .hasMessageContaining(wrong.toString())
                    .hasMessageContaining("ANNALS_DATA_DIR");
        }
    }

    @Test
    void aDirectoryWithoutSpaceIsNamed() throws Exception {
        directory = Files.createTempDirectory("annals-embedded-");
        assumeTrue(
                run("mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", directory.toString()) == 0,
                "this needs a tmpfs of its own, which only root may mount");
        try {
            assertThatThrownBy(this::start)
                    .isInstanceOf(EmbeddedDatabaseException.class)
                    .hasMessageContaining(directory.toString())
                    .hasMessageMatching(".* has (19|20) MB of free space .*");
        } finally {
            run("umount", directory.toString());
        }
    }

    @Test
    void aStartThatWasCutShortIsDoneAnew() throws Exception {
        directory = Files.createTempDirectory("annals-embedded-");
        Files.createFile(directory.resolve("annals.lock"));
        Path partial = Files.createDirectory(directory.resolve("postgresql.partial"));
        Files.writeString(partial.resolve("PG_VERSION"), "18\n");
        try (EmbeddedDatabase database = start()) {
            assertThat(query(database.url(), "select 1")).isEqualTo("1");
        }
        assertThat(partial).doesNotExist();
    }

    @Test
    void rootAndOthersCanRunIt() throws Exception {
        try (EmbeddedDatabase database = start()) {
            assertThat(query(database.url(), "select current_setting('server_version_num')::int >= 180000"))
                    .isEqualTo("t");
            assertThat(server().info().user()).contains(System.getProperty("user.name"));
        }
    }

    @Test
    void theDirectoryMayHaveAnyNameButControlCharacters() throws Exception {
        Path parent = Files.createTempDirectory("annals-embedded-");
        directory = parent;
        Path odd = parent.resolve("it's \"here\" \\ 50% $HOME $(id) `id` ; & # ~ dätä");
        for (int round = 0; round < 2; round++) {
            try (EmbeddedDatabase database = EmbeddedDatabase.start(odd)) {
                assertThat(query(database.url(), "select 1")).isEqualTo("1");
            }
        }
        assertThatThrownBy(() -> EmbeddedDatabase.start(parent.resolve("two\nlines")))
                .isInstanceOf(EmbeddedDatabaseException.class)
                .hasMessageContainingAll("two?lines", "control character", "ANNALS_DATA_DIR");
    }

    @Test
    void aUserIdWithoutANameMakesADatabase() throws Exception {
        directory = Files.createTempDirectory("annals-embedded-");
        Process owner =
                owner("unshare", "--user", "--map-user=12345", "--map-group=0").start();
        owners.add(owner);
        assertThat(outputUntilStarted(owner)).last().isEqualTo("started");
        assertThat(query(
                        DatabaseUrl.parse(Files.readString(directory.resolve("database-url"))
                                .strip()),
                        "select 1"))
                .isEqualTo("1");
    }

    @Test
    void aUserIdWithoutANameGetsAdvice() throws Exception {
        directory = Files.createTempDirectory("annals-embedded-");
        ProcessBuilder nameless = owner("unshare", "--user", "--map-user=12345", "--map-group=0");
        nameless.environment().put("PATH", "/nonexistent");
        Process owner = nameless.start();
        owners.add(owner);
        assertThat(String.join(" ", outputUntilStarted(owner)))
                .contains("the user with the id 12345", "annals:x:12345:0::/:/sbin/nologin", "ANNALS_DATABASE_URL");
    }

    private EmbeddedDatabase start() {
        return EmbeddedDatabase.start(directory, TestDatabase.BINARIES, Set.of());
    }

    private ProcessHandle server() throws IOException {
        String pid = Files.readAllLines(directory.resolve("postgresql/postmaster.pid"))
                .get(0);
        return ProcessHandle.of(Long.parseLong(pid.strip())).orElseThrow();
    }

    /** A process that starts the database, says so, and then waits to be killed. */
    static final class Owner {
        public static void main(String[] arguments) throws IOException {
            EmbeddedDatabase.start(Path.of(arguments[0]), Path.of(arguments[1]), Set.of());
            System.out.println("started");
            int unused = System.in.read();
        }
    }

    private Process startInAnotherProcess() throws IOException {
        Process process = owner().start();
        owners.add(process);
        List<String> output = outputUntilStarted(process);
        if (!output.contains("started")) {
            throw new IllegalStateException(String.join("\n", output));
        }
        return process;
    }

    private ProcessBuilder owner(String... prefix) {
        List<String> command = new ArrayList<>(List.of(prefix));
        command.addAll(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                Owner.class.getName(),
                directory.toString(),
                TestDatabase.BINARIES.toString()));
        return new ProcessBuilder(command).redirectErrorStream(true);
    }

    private static List<String> outputUntilStarted(Process process) throws IOException {
        List<String> output = new ArrayList<>();
        BufferedReader reader =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        for (String line = reader.readLine(); line != null; line = reader.readLine()) {
            output.add(line);
            if (line.equals("started")) {
                break;
            }
        }
        return output;
    }

    private static List<InetAddress> otherAddresses() throws IOException {
        // A second one of the loopback interface, where there is no other.
        List<InetAddress> addresses = new ArrayList<>(List.of(InetAddress.getByName("127.0.0.2")));
        for (NetworkInterface network : Collections.list(NetworkInterface.getNetworkInterfaces())) {
            for (InetAddress address : Collections.list(network.getInetAddresses())) {
                if (!address.getHostAddress().equals("127.0.0.1")) {
                    addresses.add(address);
                }
            }
        }
        return addresses;
    }

    private static String whenItAnswers(DatabaseUrl url, String sql) throws Exception {
        AtomicReference<String> answer = new AtomicReference<>();
        Await.until("it answers", () -> {
            try {
                answer.set(query(url, sql));
                return true;
            } catch (SQLException e) {
                return false;
            }
        });
        return answer.get();
    }

    private static String query(DatabaseUrl url, String sql) throws SQLException {
        return SqlFixture.on(url).text(sql);
    }

    private static int run(String... command) throws Exception {
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start()
                .waitFor();
    }
}
