package dev.annals.tools.ops;

import static dev.annals.Tools.need;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.Await;
import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import dev.annals.derived.log.KeyFile;
import dev.annals.derived.proof.MasterKey;
import dev.annals.derived.proof.SigningKey;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.PgBouncer;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.Hash;
import dev.annals.tools.embedded.InstalledPostgres;
import dev.annals.tools.embedded.TestDatabase;
import dev.annals.tools.ops.Finding.State;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A deployment that lacks nothing; each test takes one thing away, and the doctor names it. */
@BesideTheService
class DoctorTest {

    private static final String SETTINGS =
            "{\"ANNALS_LOG_KEY_FILE\": \"/run/secrets/log-key\", \"ANNALS_STREAMS_KEY_FILE\": \"/run/secrets/streams-key\"}";
    private static final URI SERVICE = URI.create("https://audit.example.org");

    @TempDir
    static Path directory;

    private static InstalledPostgres server;
    private static SqlFixture sql;
    private static MasterKey key;
    private static Path logKey;

    private Connection instance;
    private Clock clock = Clock.systemUTC();
    private ServiceAnswer service = answer(SERVICE, 200, "0.1.0", Duration.ZERO);

    @BeforeAll
    static void start() throws Exception {
        server = InstalledPostgres.start(directory);
        server.restart(
                "-c fsync=on -c archive_mode=on -c archive_command=true -c max_prepared_transactions=0 -c log_timezone=UTC");
        TestDatabase.migrate(server.url("postgres"));
        sql = SqlFixture.on(server.url("postgres"));
        key = MasterKey.draw();
        logKey = directory.resolve("log-key");
        KeyFile.write(logKey, key);
        UUID project = sql.insertProject();
        String origin = "audit.example.org/v1/projects/" + project + "/log/1";
        String note = SigningKey.sign(new Checkpoint(origin, 0, Hash.EMPTY_TREE), List.of(key.of(origin)))
                .toString();
        sql.run(
                "insert into annals.merkle_log (project_id, checkpoint) values ('" + project + "', '" + note + "')",
                "select annals.set_retention('" + project + "', 90)",
                "update annals.project set archive_required = true where id = '" + project + "'");
        sql.runEach("create role annals_app login password 'secret' in role annals_service");
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    @BeforeEach
    void begin() throws Exception {
        note("settings", SETTINGS);
        note("log_keys", "{\"vkeys\": [\"" + vkey("audit.example.org") + "\"]}");
        instance = connect("annals_app", "127.0.0.1");
    }

    @AfterEach
    void end() throws Exception {
        instance.close();
    }

    private static Connection connect(String login, String host) throws Exception {
        DatabaseUrl url = server.url("postgres");
        return DriverManager.getConnection(
                "jdbc:postgresql://" + host + ":" + url.port() + "/postgres?ApplicationName=annals&sslmode=disable",
                login,
                "secret");
    }

    private static void note(String kind, String state) throws Exception {
        sql.run("select annals.note_state('" + kind + "', '" + state + "')");
    }

    private static String vkey(String host) throws Exception {
        String origin = host + "/v1/projects/" + sql.text("select annals.administration()::text") + "/log/1";
        return key.of(origin).verifier().toString();
    }

    private static ServiceAnswer answer(URI url, int status, String version, Duration ahead) {
        Instant now = Instant.now();
        return new ServiceAnswer(
                url, status, "refused", Optional.of(version), Optional.of(now.plus(ahead)), now.minusSeconds(1), now);
    }

    private List<Finding> findings(DatabaseUrl database) throws Exception {
        Doctor doctor = new Doctor();
        doctor.clock = clock;
        doctor.logKey = logKey;
        return doctor.examine(database, false, service);
    }

    private Finding finding(String check) throws Exception {
        return findings(server.url("postgres")).stream()
                .filter(each -> each.check().equals(check))
                .findFirst()
                .orElseThrow();
    }

    private void assertNamed(String check, State state, String found, String mend) throws Exception {
        Finding finding = finding(check);
        assertThat(finding.state()).as(finding.toString()).isEqualTo(state);
        assertThat(finding.found()).contains(found);
        assertThat(finding.mend()).contains(mend);
    }

    private void assertNamedOnceLoaded(String check, State state, String setting) throws Exception {
        sql.runEach("select pg_reload_conf()");
        Await.until(
                setting + " is named",
                () -> finding(check).state() == state && finding(check).found().contains(setting));
    }

    private static void set(String statement) throws Exception {
        sql.runEach(statement, "select pg_reload_conf()");
    }

    @Test
    void aCompleteDeploymentLacksNothing() throws Exception {
        assertThat(findings(server.url("postgres")))
                .noneMatch(finding -> finding.state() == State.MISSING)
                .filteredOn(finding -> finding.state() == State.WARNING)
                .extracting(Finding::check)
                // The owner of a new server is a superuser; nothing follows it; PostgreSQL makes checksums by itself
                // from 18 on.
                .isSubsetOf("streams key's copy", "roles", "replication", "durability");
    }

    @Test
    void aServiceThatDoesNotAnswerOrIsNotReadyIsNamed() throws Exception {
        service = answer(SERVICE, 0, "0.1.0", Duration.ZERO);
        assertNamed("service", State.MISSING, "does not answer", "ANNALS_URL");
        service = answer(SERVICE, 503, "0.1.0", Duration.ZERO);
        assertNamed("service", State.MISSING, "not ready (503)", "/q/health");
        service = answer(SERVICE, 200, "9.9.9", Duration.ZERO);
        assertNamed("versions", State.WARNING, "version 9.9.9", "of the service's version");
    }

    @Test
    void anAddressWithoutAServiceIsNoFailureOfTheCommand() throws Exception {
        service = ServiceAnswer.of(URI.create("http://127.0.0.1:1"), clock);
        assertNamed("service", State.MISSING, "does not answer", "--service");
        assertNamed("clocks", State.WARNING, "was not seen", "--service");
    }

    @Test
    void aMissingOrWrongLogKeyIsNamed() throws Exception {
        note("log_keys", "{\"vkeys\": [\"" + vkey("localhost") + "\"]}");
        assertNamed("log key", State.WARNING, "localhost", "ANNALS_LOG_HOST");
        note("settings", "{\"ANNALS_LOG_KEY\": {\"secret\": \"0123\"}}");
        assertNamed("log key", State.WARNING, "in the environment", "ANNALS_LOG_KEY_FILE");
        note("log_keys", "{}");
        assertNamed("log key", State.MISSING, "not signed", "ANNALS_LOG_KEY_FILE");
        note("log_keys", "{\"vkeys\": [\"" + vkey("audit.example.org") + "\"]}");
        sql.run("update annals.merkle_log set halted = 'a reason'");
        assertNamed("log key", State.MISSING, "1 logs are halted", "annals log resume");
        sql.run("update annals.merkle_log set halted = null");
    }

    @Test
    void aMissingOrWrongCopyOfTheLogKeyIsNamed() throws Exception {
        assertNamed("log key's copy", State.OK, "the key of all 1 signed logs", "");
        Path right = logKey;
        logKey = directory.resolve("other-" + UUID.randomUUID());
        KeyFile.write(logKey, MasterKey.draw());
        assertNamed("log key's copy", State.MISSING, "not the key", "ANNALS_LOG_KEY_FILE");
        logKey = Files.writeString(directory.resolve("no-key"), "none");
        assertThatThrownBy(() -> finding("log key's copy")).hasMessageContaining("no log key");
        logKey = null;
        assertNamed("log key's copy", State.WARNING, "No copy", "--log-key");
        logKey = right;
    }

    @Test
    void aMissingStreamsKeyIsNamed() throws Exception {
        note("settings", "{\"ANNALS_LOG_KEY_FILE\": \"/run/secrets/log-key\"}");
        assertNamed("streams key", State.MISSING, "cannot have secrets", "ANNALS_STREAMS_KEY_FILE");
        assertNamed("streams key's copy", State.WARNING, "No copy", "--streams-key");
    }

    @Test
    void addressesWithoutTlsAreNamed() throws Exception {
        service = answer(URI.create("http://audit.example.org"), 200, "0.1.0", Duration.ZERO);
        assertNamed("TLS of the service", State.WARNING, "in the clear", "TLS in front");
        service = answer(URI.create("http://localhost:8080"), 200, "0.1.0", Duration.ZERO);
        assertNamed("TLS of the service", State.OK, "localhost", "");
        note("settings", SETTINGS.replace("{", "{\"ANNALS_PUBLIC_URL\": \"http://audit.example.org\", "));
        assertNamed("TLS of the service", State.WARNING, "ANNALS_PUBLIC_URL", "https");
    }

    @Test
    void aSessionFromAnotherMachineWithoutTlsIsNamed() throws Exception {
        Optional<InetAddress> address = NetworkInterface.networkInterfaces()
                .flatMap(NetworkInterface::inetAddresses)
                .filter(each -> each instanceof Inet4Address && !each.isLoopbackAddress())
                .findFirst();
        need(address.isPresent(), "an address besides the loopback");
        assertNamed("TLS to PostgreSQL", State.OK, "encrypted", "");
        instance.close();
        Await.until("the session has ended", () -> finding("TLS to PostgreSQL").state() == State.WARNING);
        assertNamed("TLS to PostgreSQL", State.WARNING, "nothing was seen", "Start");
        server.acceptFromEverywhere();
        instance = connect("annals_app", address.get().getHostAddress());
        assertNamed("TLS to PostgreSQL", State.WARNING, "annals_app", "sslmode=verify-full");
        sql.runEach("create role ordinary login password 'secret' in role annals");
        DatabaseUrl own = server.url("postgres");
        DatabaseUrl ordinary =
                new DatabaseUrl("ordinary", "secret", own.host(), own.port(), "postgres", own.parameters());
        assertThat(findings(ordinary)).anyMatch(finding -> finding.mend().contains("grant pg_read_all_stats"));
        instance.close();
        sql.runEach("drop role ordinary");
        server.restart("-c fsync=on -c archive_mode=on -c archive_command=true -c log_timezone=UTC");
        instance = connect("annals_app", "127.0.0.1");
    }

    @Test
    void loginsWithTooManyRightsAreNamed() throws Exception {
        Connection owner = connect("annals", "127.0.0.1");
        assertNamed("roles", State.MISSING, "log in as annals,", "annals migrate --service-user");
        owner.close();
        Await.until("the session has ended", () -> finding("roles").state() != State.MISSING);
        assertNamed("roles", State.WARNING, "annals is a superuser", "ordinary role");
        sql.runEach("grant annals_writer to annals_app");
        assertNamed("roles", State.MISSING, "annals_app may write plain SQL", "annals_writer alone");
        sql.runEach("revoke annals_writer from annals_app");
    }

    @Test
    void aTriggerThatIsOffIsNamed() throws Exception {
        sql.runEach("alter table annals.audit_record disable trigger place_segment");
        assertNamed("schema", State.MISSING, "differences, such as:", "annals verify");
        sql.runEach("alter table annals.audit_record enable trigger place_segment");
        assertNamed("schema", State.OK, "", "");
    }

    @Test
    void missingStandbysAreNamed() throws Exception {
        assertNamed("replication", State.WARNING, "No standby is synchronous (0 follow)", "synchronous_standby_names");
        note("settings", SETTINGS.replace("{", "{\"ANNALS_LOG_TRUST_PROMOTION\": \"true\", "));
        assertNamed("replication", State.MISSING, "ANNALS_LOG_TRUST_PROMOTION", "synchronous_standby_names");
        sql.runEach("alter system set synchronous_standby_names = 'away'");
        assertNamedOnceLoaded("replication", State.MISSING, "wait for away");
        sql.runEach("alter system reset synchronous_standby_names", "select pg_reload_conf()");
        Path copy = Files.createDirectories(directory.resolve("replicated"));
        try (InstalledPostgres standby = server.startStandby(copy)) {
            sql.runEach("alter system set synchronous_standby_names = '*'");
            assertNamedOnceLoaded("replication", State.OK, "1 standbys follow");
            assertThat(findings(standby.url("postgres")))
                    .anyMatch(finding -> finding.found().contains("hot standby"));
            set("alter system reset synchronous_standby_names");
        }
    }

    @Test
    void settingsThatLoseRecordsAreNamed() throws Exception {
        sql.runEach("alter system set full_page_writes = off");
        assertNamedOnceLoaded("durability", State.MISSING, "full_page_writes is off");
        set("alter system reset full_page_writes");
        instance.close();
        server.restart("-c max_prepared_transactions=5 -c fsync=on");
        assertNamed("durability", State.WARNING, "max_prepared_transactions is 5", "pg_prepared_xacts");
        assertNamed("backups", State.WARNING, "archive_mode is off", "write-ahead log");
        server.restart("");
        assertNamed("durability", State.MISSING, "fsync is off", "alter system set fsync = on");
        server.restart("-c fsync=on -c archive_mode=on -c archive_command=true -c log_timezone=UTC");
        instance = connect("annals_app", "127.0.0.1");
    }

    @Test
    void collationsOfAnotherVersionAreNamed() throws Exception {
        assertNamed("collations", State.OK, "", "");
        String version = "update pg_database set datcollversion = %s where datname = 'postgres'";
        String before = sql.text("select coalesce(quote_literal(datcollversion), 'null') from pg_database"
                + " where datname = 'postgres'");
        sql.runEach(version.formatted("'0'"));
        try {
            assertNamed("collations", State.WARNING, "made with version 0", "refresh collation version");
            sql.runEach("create index ours on annals.audit_record (message)");
            assertNamed("collations", State.MISSING, "index ours was made with version 0", "reindex schema annals");
        } finally {
            sql.runEach("drop index if exists annals.ours", version.formatted(before));
        }
    }

    @Test
    void clocksThatDifferAreNamed() throws Exception {
        service = answer(SERVICE, 200, "0.1.0", Duration.ofSeconds(20));
        assertNamed("clocks", State.WARNING, "the service is off by 20 s", "time server");
        service = answer(SERVICE, 200, "0.1.0", Duration.ofHours(-1));
        assertNamed("clocks", State.MISSING, "the service is off by", "time server");
        service = answer(SERVICE, 200, "0.1.0", Duration.ZERO);
        clock = Clock.offset(Clock.systemUTC(), Duration.ofMinutes(10));
        assertNamed("clocks", State.MISSING, "the database is off by", "time server");
    }

    @Test
    void aLoginBehindAPoolerThatLacksASettingIsNamed() throws Exception {
        sql.runEach("alter role annals_app set role = 'annals_service'", "alter role annals_app set jit = off");
        assertNamed("pooler", State.MISSING, "annals_app lacks array_nulls", "through-pgbouncer");
        sql.runEach("alter role annals_app reset all");
        assertNamed("pooler", State.OK, "None was seen", "");

        try (PgBouncer pooler = PgBouncer.start(directory, server, "transaction", Map.of("annals", "secret"))) {
            assertThat(findings(pooler.url("annals", "secret", "postgres")))
                    .anyMatch(finding -> finding.found().contains("through a pooler"));
        }
    }

    @Test
    void aLogInAnotherTimeZoneIsNamed() throws Exception {
        server.restart("-c fsync=on -c archive_mode=on -c archive_command=true -c log_timezone=Asia/Tokyo");
        assertNamed("time zones", State.WARNING, "Asia/Tokyo", "log_timezone = 'UTC'");
        server.restart("-c fsync=on -c archive_mode=on -c archive_command=true -c log_timezone=UTC");
    }

    @Test
    void retentionWithoutArchivesAndWithoutAnInstanceIsNamed() throws Exception {
        UUID project = sql.insertProject();
        sql.run("select annals.set_retention('" + project + "', 30)");
        assertNamed("retention", State.WARNING, "1 projects remove records", "docs/retention.md");
        note("settings", SETTINGS.replace("{", "{\"ANNALS_RETENTION_ENABLED\": \"false\", "));
        assertNamed("retention", State.MISSING, "2 projects stay", "Unset it");
        sql.run("select annals.set_retention('" + project + "', null)");
    }

    @Test
    void findingsOfTheVerificationAreNamed() throws Exception {
        note("settings", SETTINGS.replace("{", "{\"ANNALS_VERIFICATION_ENABLED\": \"false\", "));
        assertNamed("verification", State.WARNING, "does not verify", "ANNALS_VERIFICATION_ENABLED");
        sql.run("insert into annals.verification (project_id, found) values (annals.administration(), 1)");
        assertNamed("verification", State.MISSING, "1 projects have findings", "annals verify");
        sql.run("delete from annals.verification");
    }
}
