package dev.annals.tools.ops;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.embedded.TestDatabase;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The packaged program's commands, as an operator runs them. */
@Slow
@Timeout(180)
class CommandsIT {

    private final DatabaseUrl owner = TestDatabase.createDatabase();
    private final String login = "annals_app_" + UUID.randomUUID().toString().replace("-", "");
    private final DatabaseUrl limited =
            new DatabaseUrl(login, "secret", owner.host(), owner.port(), owner.database(), owner.parameters());

    @BeforeEach
    void createTheServingUser() throws SQLException {
        SqlFixture.on(owner).runEach("create role " + login + " login password 'secret'");
    }

    @AfterEach
    void dropTheServingUser() throws SQLException {
        SqlFixture.on(owner).runEach("drop owned by " + login, "drop role " + login);
    }

    @Test
    void theOwnerMigratesAndAUserWithoutRightsOfItsOwnServes() throws Exception {
        try (ServiceProcess early = serveLimited()) {
            assertThat(early.awaitEnd()).isEqualTo(1);
            assertThat(String.join("\n", early.output)).contains("The service stops: ");
        }
        run(0, owner, "migrate", "--service-user=" + login);
        assertThat(run(0, owner, "migrate"))
                .contains("The schema is at version ")
                .doesNotContain("annals_");

        try (ServiceProcess service = serveLimited().awaitListening()) {
            service.newProject(AuditLogFixture.ADMIN_TOKEN, "read");
            service.process().destroy();
            assertThat(service.process().waitFor()).isEqualTo(143);
        }
        assertThat(run(0, limited, "verify"))
                .matches("Sound: [0-9]+ records in [23] projects[.] No value is redacted[.]");
        SqlFixture.on(owner)
                .runEach(
                        "set session_replication_role = replica",
                        "insert into annals.audit_record (project_id, placed_with, action) select id, id, 'lost' from annals.project");
        assertThat(run(1, limited, "verify")).contains("has no place", "Not sound");
    }

    @Test
    void aSchemaThatIsTooOldIsNotServedByWhoMayNotMigrateIt() throws Exception {
        TestDatabase.migrate(owner);
        SqlFixture.on(owner)
                .runEach(
                        "grant annals_service to " + login,
                        "delete from annals.flyway_schema_history where description = '90 privileges'");

        try (ServiceProcess service = serveLimited()) {
            assertThat(service.awaitEnd()).isEqualTo(1);
            assertThat(String.join("\n", service.output))
                    .contains("The service stops: The database's schema is at version 1 and this release needs 1 more ")
                    .contains("Run \"migrate\"");
        }
    }

    @Test
    void aFailedStartNamesTheSettingAndTheFile() throws Exception {
        TestDatabase.migrate(owner);
        assertStops(Map.of("ANNALS_PORT", "abc"), "ANNALS_PORT", "\"abc\"", "integer");
        assertStops(Map.of("ANNALS_VERIFICATION_ENABLED", "ture"), "ANNALS_VERIFICATION_ENABLED", "\"ture\"");
        for (String wrong : List.of("10.0.0.0/99", "300.1.1.1", ":::/64", "1:2/64", "::ffff:10.0.0.0/64")) {
            assertStops(Map.of("ANNALS_TRUSTED_PROXIES", wrong), "ANNALS_TRUSTED_PROXIES");
        }
        assertStops(Map.of("ANNALS_READ_DATABASE_URL", "nonsense"), "ANNALS_READ_DATABASE_URL");
        assertStops(Map.of("ANNALS_LOG_KEY_FILE", "/nosuch/key"), "The file /nosuch/key (ANNALS_LOG_KEY_FILE)");
        assertStops(
                Map.of("ANNALS_LOG_PREVIOUS_KEY_FILE", "/nosuch/key"),
                "The file /nosuch/key (ANNALS_LOG_PREVIOUS_KEY_FILE)");
        assertStops(
                Map.of("ANNALS_ADMIN_TOKEN_FILE", "/nosuch/token"), "The file /nosuch/token (ANNALS_ADMIN_TOKEN_FILE)");
        assertStops(Map.of("ANNALS_STREAMS_KEY_FILE", "/nosuch/key"), "The file /nosuch/key (ANNALS_STREAMS_KEY_FILE)");
        Map<String, String> away = new HashMap<>(Map.of("ANNALS_DATABASE_URL", owner.withPassword()));
        away.put("ANNALS_READ_DATABASE_URL", "postgresql://reader@127.0.0.1:1/annals");
        try (ServiceProcess service = ServiceProcess.start(away).awaitListening()) {
            Await.until(
                    "the read database is named",
                    () -> service.output.stream().anyMatch(line -> line.contains("ANNALS_READ_DATABASE_URL")));
        }
    }

    private void assertStops(Map<String, String> settings, String... told) throws Exception {
        Map<String, String> all = new HashMap<>(Map.of("ANNALS_DATABASE_URL", owner.withPassword()));
        all.putAll(settings);
        try (ServiceProcess service = ServiceProcess.start(all)) {
            assertThat(service.awaitEnd()).isEqualTo(1);
            // A task may find its connection closed by the stop.
            String said = service.output.stream()
                    .filter(line -> !line.contains(" wait for the database: "))
                    .collect(Collectors.joining("\n"));
            assertThat(said).contains(told).doesNotContain("SRCFG", "Exception: ");
        }
    }

    @Test
    void aServiceWithoutALogKeyWarnsAtTheStartAndInItsHealth() throws Exception {
        TestDatabase.migrate(owner);
        String unsigned = "Records are not signed, so their readers can prove nothing. Set ANNALS_LOG_KEY_FILE";
        try (ServiceProcess service = ServiceProcess.start(Map.of("ANNALS_DATABASE_URL", owner.withPassword()))
                .awaitListening()) {
            assertThat(service.output).anyMatch(line -> line.contains(" WARN ") && line.contains(unsigned));
            assertThat(health(service)).contains("\"signed\": false", unsigned);
        }
    }

    @Test
    void theNewestCheckpointsAreKeptWhereTheSettingSays(@TempDir Path folder) throws Exception {
        Path key = folder.resolve("log-key");
        Path token = Files.writeString(folder.resolve("admin-token"), AuditLogFixture.ADMIN_TOKEN + "\n");
        run(0, owner, "log", "keygen", key.toString());
        TestDatabase.migrate(owner);
        try (ServiceProcess service = ServiceProcess.start(Map.of(
                        "ANNALS_DATABASE_URL", owner.withPassword(),
                        "ANNALS_ADMIN_TOKEN_FILE", token.toString(),
                        "ANNALS_LOG_KEY_FILE", key.toString(),
                        "ANNALS_LOG_SEEN_DIR", folder.resolve("volume/seen").toString()))
                .awaitListening()) {
            AuditLogFixture.Project project = service.newProject(AuditLogFixture.ADMIN_TOKEN, "read");
            HttpResponse<String> checkpoint = HttpClient.newHttpClient()
                    .send(
                            HttpRequest.newBuilder(service.uri("/v1/project-logs/log/1/checkpoint"))
                                    .header("Authorization", "Bearer " + project.token())
                                    .build(),
                            HttpResponse.BodyHandlers.ofString());
            assertThat(checkpoint.statusCode()).as(checkpoint.body()).isEqualTo(200);
            assertThat(folder.resolve("volume/seen").resolve(project.id().toString()))
                    .content()
                    .isEqualTo(checkpoint.body());
            assertThat(folder.resolve("log-key.seen")).doesNotExist();
            assertThat(health(service)).contains("\"signed\": true").doesNotContain("Records are not signed");
        }
    }

    @Test
    void theDoctorIsContentWithACompleteDeploymentAndNamesWhatIsTakenAway(@TempDir Path folder) throws Exception {
        Path logKey = folder.resolve("log-key");
        Path streamsKey = Files.writeString(folder.resolve("streams-key"), "1".repeat(64));
        run(0, owner, "log", "keygen", logKey.toString());
        run(0, owner, "migrate", "--service-user=" + login);
        Map<String, String> settings = new HashMap<>(Map.of(
                "ANNALS_DATABASE_URL",
                limited.withPassword(),
                "ANNALS_DATABASE_MIGRATE_AT_START",
                "false",
                "ANNALS_ADMIN_TOKEN",
                AuditLogFixture.ADMIN_TOKEN,
                "ANNALS_LOG_HOST",
                "audit.example.org",
                "ANNALS_LOG_KEY_FILE",
                logKey.toString(),
                "ANNALS_STREAMS_KEY_FILE",
                streamsKey.toString()));
        try (ServiceProcess service = ServiceProcess.start(settings).awaitListening()) {
            AuditLogFixture.Project project = service.newProject(AuditLogFixture.ADMIN_TOKEN, "stream");
            given().header("Authorization", "Bearer " + project.token())
                    .contentType("application/json")
                    .body(
                            "{\"sink\": {\"type\": \"webhook\", \"url\": \"https://hooks.example.org\", \"secret\": \"whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}}")
                    .put(service.uri("/v1/streams/hook"))
                    .then()
                    .statusCode(201);
            Await.until(
                    "the start is recorded",
                    () -> SqlFixture.on(owner).number("select count(*) from annals.noted_state") == 2);

            String copies = "--log-key=" + logKey;
            String found = doctor(0, service, "--json", copies, "--streams-key=" + streamsKey);
            assertThat(new ObjectMapper().readTree(found))
                    .hasSizeGreaterThan(15)
                    .noneMatch(each -> each.get("state").asText().equals("missing"));
            assertThat(found)
                    .contains(
                            "opens the secrets of all 1 streams",
                            "is the key of all",
                            "Database, service and this machine agree");
            assertThat(doctor(0, service, copies)).contains("streams key's copy  warning  No copy was compared");

            Files.writeString(folder.resolve("other-key"), "2".repeat(64));
            assertThat(doctor(1, service, "--streams-key=" + folder.resolve("other-key")))
                    .containsPattern(
                            "streams key's copy +missing +.* does not open the secrets of 1 of 1 streams, such as hook");
        }
        settings.remove("ANNALS_LOG_KEY_FILE");
        settings.remove("ANNALS_STREAMS_KEY_FILE");
        settings.put("ANNALS_DATABASE_URL", owner.withPassword());
        try (ServiceProcess service = ServiceProcess.start(settings).awaitListening()) {
            Await.until(
                    "the start is recorded",
                    () -> SqlFixture.on(owner)
                            .text("select state::text from annals.noted_state where kind = 'log_keys'")
                            .equals("{}"));
            assertThat(doctor(1, service))
                    .containsPattern("log key +missing +.*\n +Set ANNALS_LOG_KEY_FILE")
                    .containsPattern(
                            "streams key +missing +.*1 streams that have one stand still.\n +Set ANNALS_STREAMS_KEY_FILE")
                    .containsPattern("roles +missing +.*\n +annals migrate --service-user");
        }
    }

    private String doctor(int exitCode, ServiceProcess service, String... options) throws Exception {
        List<String> command = new ArrayList<>(List.of("doctor"));
        command.addAll(List.of(options));
        Map<String, String> settings = Map.of(
                "ANNALS_DATABASE_URL",
                owner.withPassword(),
                "ANNALS_URL",
                service.uri("").toString());
        try (ServiceProcess program = ServiceProcess.start(settings, command.toArray(String[]::new))) {
            int ended = program.awaitEnd();
            String printed = String.join("\n", program.output);
            assertThat(ended).as(printed).isEqualTo(exitCode);
            return printed;
        }
    }

    private static String health(ServiceProcess service) throws Exception {
        var address = service.managementUri("/q/health");
        return HttpClient.newHttpClient()
                .send(HttpRequest.newBuilder(address).build(), HttpResponse.BodyHandlers.ofString())
                .body();
    }

    @Test
    void aWrongCommandLineListsTheCommands() throws Exception {
        assertThat(run(2, owner, "vacuum"))
                .isEqualTo(
                        "There is no command vacuum; there are tail, search, append, export, archive, redact, erase, stream, alert,"
                                + " link, whoami, project, token, grant, hold, action, database, serve, migrate, copy, verify, doctor,"
                                + " log, rebuild, reconcile, check, sequence-benchmark, help and generate-completion. Without one, the service runs.");
        assertThat(run(0, owner, "--help")).contains("serve", "tail", "append", "export", "migrate", "verify");
        assertThat(run(0, owner, "help", "sequence-benchmark")).contains("--low-water-mark");
        assertThat(run(2, owner, "sequence-benchmark", "--threads=0"))
                .contains("--threads is 0, but has to be from 1 to 64.");
        assertThat(run(2, owner, "verify", "--fast")).contains("--fast", "--findings");
        assertThat(run(0, owner, "migrate", "--help")).contains("--service-user");
        assertThat(run(2, owner.withDatabase("nowhere"), "verify")).contains("nowhere");
        assertThat(run(2, owner, "log", "next-epoch")).contains("--project");
        assertThat(run(2, owner, "log", "vacuum"))
                .startsWith("There is no command log vacuum; there are keygen, resume and next-epoch.");
        assertThat(run(2, owner, "archive", "default"))
                .startsWith("There is no command archive default; there is only restore.");
        assertThat(run(2, owner, "token", "revoke", "shop", "7")).contains("'7' is no id");
        assertThat(run(1, owner, "log", "resume")).contains("annals migrate");
        assertThat(run(1, owner, "log", "next-epoch", "--project=" + UUID.randomUUID()))
                .contains("annals migrate");
    }

    @Test
    void aKeyIsMadeOnceAndNeverOverwritten(@TempDir Path keys) throws Exception {
        String file = keys.resolve("log-key").toString();
        assertThat(run(0, owner, "log", "keygen", file)).contains("ANNALS_LOG_KEY_FILE");
        String made = Files.readString(Path.of(file));
        assertThat(made).startsWith("annals-log-key/1:");
        assertThat(run(1, owner, "log", "keygen", file)).contains("exists already");
        assertThat(Files.readString(Path.of(file))).isEqualTo(made);
    }

    private ServiceProcess serveLimited() throws Exception {
        return ServiceProcess.start(Map.of(
                "ANNALS_DATABASE_URL",
                limited.withPassword(),
                "ANNALS_DATABASE_MIGRATE_AT_START",
                "false",
                "ANNALS_ADMIN_TOKEN",
                AuditLogFixture.ADMIN_TOKEN));
    }

    private static String run(int exitCode, DatabaseUrl database, String... command) throws Exception {
        try (ServiceProcess program =
                ServiceProcess.start(Map.of("ANNALS_DATABASE_URL", database.withPassword()), command)) {
            int ended = program.awaitEnd();
            String printed = String.join("\n", program.output);
            assertThat(ended).as(printed).isEqualTo(exitCode);
            return printed;
        }
    }
}
