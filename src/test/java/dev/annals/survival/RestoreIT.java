package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.tools.embedded.InstalledPostgres;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * An older state of the database is restored under its clients, in each of the ways of {@code docs/operations.md}. Every reader who was
 * ahead is told so, and finds where the feed and what it has read part; {@code annals verify} finds it, too.
 */
@Slow
@TakesLong
@Order(5)
@Timeout(600)
class RestoreIT {

    private static final String ADMIN = "a-token-for-administration";
    private static final int READERS = 4;

    @TempDir
    Path directory;

    private final HttpClient http = HttpClient.newHttpClient();
    private InstalledPostgres server;
    private ServiceProcess service;
    private Project project;
    private Clients clients;
    private Path key;

    @BeforeEach
    void startAll() throws Exception {
        server = InstalledPostgres.start(directory);
        SqlFixture.on(server.url("postgres")).runEach("create database annals");
        key = directory.resolve("log-key");
        try (ServiceProcess keygen = ServiceProcess.start(Map.of(), "log", "keygen", key.toString())) {
            assertThat(keygen.awaitEnd()).as("%s", keygen.output).isZero();
        }
        service = ServiceProcess.start(Map.of(
                        "ANNALS_DATABASE_URL",
                        server.url("annals").withPassword(),
                        "ANNALS_ADMIN_TOKEN",
                        ADMIN,
                        "ANNALS_LOG_KEY_FILE",
                        key.toString(),
                        "ANNALS_LOG_HOST",
                        "audit.example.org"))
                .awaitListening();
        project = service.newProject(ADMIN, "read", "write");
        clients = new Clients(() -> service.uri(""), project).start(4, READERS);
        clients.awaitTold(200);
    }

    @AfterEach
    void stopAll() {
        if (clients != null) {
            clients.close();
        }
        if (service != null) {
            service.close();
        }
        if (server != null) {
            server.close();
        }
    }

    @Test
    void pointInTimeRecovery() throws Exception {
        Path archive = directory.resolve("archive");
        server.archiveTo(archive);
        Path backup = directory.resolve("backup");
        server.backUp(backup);
        clients.awaitTold(200);
        long restored = records();
        SqlFixture on = SqlFixture.on(server.url("postgres"));
        on.runEach("select pg_create_restore_point('before the mistake')");
        String segment = on.text("select pg_walfile_name(pg_switch_wal())");

        assertEveryoneIsTold("point-in-time recovery", restored, () -> {
            Await.until(
                    "the segment with the point is archived",
                    () -> on.text("select last_archived_wal >= '" + segment + "' from pg_stat_archiver")
                            .equals("t"));
            server.replaceBy(
                    backup,
                    "restore_command = 'cp " + archive + "/%f %p'",
                    "recovery_target_name = 'before the mistake'",
                    "recovery_target_action = 'promote'");
        });
    }

    @Test
    void aCopiedVolume() throws Exception {
        Path copy = directory.resolve("copy");
        server.copyStopped(copy);
        long restored = 200;

        assertEveryoneIsTold("copied volume", restored, () -> server.replaceBy(copy));
    }

    @Test
    void aFullDump() throws Exception {
        long restored = records();
        Path dump = directory.resolve("annals.dump");
        InstalledPostgres.run("pg_dump", "--format=custom", "--file=" + dump, "--dbname=" + server.libpq("annals"));

        assertEveryoneIsTold("full dump", restored, () -> {
            SqlFixture.on(server.url("postgres"))
                    .runEach("drop database annals with (force)", "create database annals");
            InstalledPostgres.run("pg_restore", "--dbname=" + server.libpq("annals"), dump.toString());
        });
    }

    private interface Restore {
        void happen() throws Exception;
    }

    /** @param restored how many records there are at least in what is restored */
    private void assertEveryoneIsTold(String fault, long restored, Restore restore) throws Exception {
        clients.awaitTold(300);
        Path checkpoint = keepCheckpoint();
        clients.awaitAllRead();
        clients.measurePause();
        restore.happen();
        clients.awaitTold(300);

        Verdict verdict = clients.end();
        Survived.note("restore: " + fault, clients, verdict);
        assertThat(verdict.lost()).as("%s; %s", verdict, clients).isPositive();
        assertThat(verdict).isEqualTo(new Verdict(verdict.told(), verdict.lost(), 0, 0, 0, 0));
        assertThat(clients.rewound()).as("%s", clients).isEqualTo(READERS);
        assertThat(clients.wentBackTo()).as("%s", clients).isPositive();
        assertThat(records()).isGreaterThanOrEqualTo(restored);
        assertThat(verify()).as("the restored database itself").isZero();
        assertThat(verify("--against=" + checkpoint, "--vkey=" + vkey)).isEqualTo(1);
        assertThat(said).anyMatch(line -> line.contains("are not those that the log has signed"));
        // More records may have been written since than were lost.
        if (records() < Long.parseLong(Files.readAllLines(checkpoint).get(1))) {
            assertThat(said).anyMatch(line -> line.contains("the feed ends before record"));
        }
    }

    private String vkey;
    private List<String> said;

    private Path keepCheckpoint() throws Exception {
        vkey = new ObjectMapper()
                .readTree(get("/v1/project-logs/log"))
                .at("/vkeys/0")
                .textValue();
        Await.until(
                "something is signed",
                () -> get("/v1/project-logs/log/1/checkpoint").lines().count() > 3);
        return Files.writeString(directory.resolve("checkpoint"), get("/v1/project-logs/log/1/checkpoint"));
    }

    private String get(String path) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(service.uri(path))
                .header("Authorization", "Bearer " + project.token())
                .build();
        return http.send(request, HttpResponse.BodyHandlers.ofString()).body();
    }

    private int verify(String... options) throws Exception {
        String[] arguments = new String[options.length + 1];
        arguments[0] = "verify";
        System.arraycopy(options, 0, arguments, 1, options.length);
        try (ServiceProcess verify = ServiceProcess.start(
                Map.of("ANNALS_DATABASE_URL", server.url("annals").withPassword()), arguments)) {
            int exitCode = verify.awaitEnd();
            said = List.copyOf(verify.output);
            return exitCode;
        }
    }

    private long records() throws Exception {
        return Long.parseLong(SqlFixture.on(server.url("annals"))
                .text("select count(*)::text from annals.audit_record where project_id = '" + project.id() + "'"));
    }
}
