package dev.annals.tools.embedded;

import static dev.annals.Tools.need;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.Await;
import dev.annals.Ports;
import dev.annals.ServiceProcess;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.kernel.database.DatabaseUrl;
import java.io.IOException;
import java.io.InputStream;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The packaged service as its user starts it, without any database named, and stopped in every way there is. */
@Order(3)
@Timeout(120)
class EmbeddedServiceIT {

    private static final Pattern TOUR =
            Pattern.compile("(?s)(?<export>\\. '[^']+')\\s+(?<curl>curl .*?/v1/project-logs)");

    /** One for all: each has threads, and keeps its connections. */
    private static final HttpClient CLIENT = HttpClient.newHttpClient();

    private static Path directory;
    private final List<ServiceProcess> services = new ArrayList<>();

    @BeforeAll
    static void makeDirectory() throws IOException {
        directory = Files.createTempDirectory("annals-service-");
    }

    @AfterAll
    static void deleteDirectory() {
        if (directory != null) {
            EmbeddedDatabase.start(directory).close();
            TestDatabase.deleteTree(directory);
        }
    }

    @AfterEach
    void killServices() {
        services.forEach(ServiceProcess::close);
    }

    @Test
    void aTerminatedServiceStopsItsDatabaseCleanly() throws Exception {
        ServiceProcess service = startAndWait();
        ProcessHandle server = server();

        service.process().destroy();

        service.awaitEnd();
        assertThatItStoppedCleanly(server);
    }

    @Test
    void anInterruptFromTheTerminalStopsTheServiceFirstAndThenItsDatabase() throws Exception {
        need(ServiceProcess.HAS_GROUP, "process groups, which Linux' setsid makes");
        ServiceProcess service = startAndWait();
        ProcessHandle server = server();

        // As a terminal does: to every process of the foreground group.
        new ProcessBuilder("kill", "-INT", "--", "-" + service.process().pid())
                .inheritIO()
                .start()
                .waitFor();

        service.awaitEnd();
        assertThat(service.output).noneMatch(line -> line.contains(" ERROR ") || line.contains("ended unexpectedly"));
        assertThatItStoppedCleanly(server);
    }

    /** {@code quarkus.shutdown.timeout} waits for requests under way: those that would not end are ended. */
    @Test
    void aTerminatedServiceAnswersWhoWaitsAndEndsStreamsWithoutWaitingForThem() throws Exception {
        ServiceProcess service = startAndWait(Map.of("ANNALS_ADMIN_TOKEN", AuditLogFixture.ADMIN_TOKEN));
        String token = service.newProject(AuditLogFixture.ADMIN_TOKEN, "read").token();
        HttpRequest.Builder logs = HttpRequest.newBuilder(service.uri("/v1/project-logs?wait=60"))
                .header("Authorization", "Bearer " + token);
        HttpResponse<InputStream> stream = CLIENT.send(
                logs.copy().uri(service.uri("/v1/project-logs/stream")).build(),
                HttpResponse.BodyHandlers.ofInputStream());
        CompletableFuture<HttpResponse<String>> waiting =
                CLIENT.sendAsync(logs.build(), HttpResponse.BodyHandlers.ofString());
        Await.until(
                "the long poll waits",
                () -> get(service.managementUri("/q/metrics")).contains("annals_live_waits 1.0"));

        service.process().destroy();

        assertThat(waiting.get(10, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
        assertThat(waiting.get().body()).contains("\"results\":[]", "&wait=60");
        // To its end, without an exception: the last chunk was sent.
        assertThat(new String(stream.body().readAllBytes(), StandardCharsets.UTF_8))
                .startsWith("retry: 1000");
        assertThat(service.process().waitFor(15, TimeUnit.SECONDS)).isTrue();
        service.awaitEnd();
        assertThat(service.output).noneMatch(line -> line.contains(" ERROR "));
    }

    /** A client's variables in the shell that starts the service are no settings. */
    @Test
    void aTokenThatWasIssuedIsNoSettingAndEndsWhenItIsRevoked() throws Exception {
        ServiceProcess first = startAndWait(Map.of("ANNALS_ADMIN_TOKEN", AuditLogFixture.ADMIN_TOKEN));
        HttpResponse<String> issued = administer(
                first, AuditLogFixture.ADMIN_TOKEN, "POST", "/v1/projects/annals/tokens", "{\"scopes\": [\"admin\"]}");
        assertThat(issued.statusCode()).as(issued.body()).isEqualTo(201);
        String token = field("token", issued.body());
        first.close();

        ServiceProcess service = startAndWait(Map.of("ANNALS_ADMIN_TOKEN", token));
        assertThat(service.output)
                .anyMatch(line -> line.contains(" WARN ") && line.contains("a token that Annals has issued"))
                .noneMatch(line -> line.contains(token));
        String path = "/v1/projects/annals/tokens/" + field("id", issued.body());
        assertThat(administer(service, token, "GET", "/v1/projects", null).statusCode())
                .isEqualTo(200);
        assertThat(administer(service, token, "DELETE", path, null).statusCode())
                .isEqualTo(204);
        assertThat(administer(service, token, "GET", "/v1/projects", null).statusCode())
                .isEqualTo(401);
    }

    private static String field(String name, String json) {
        Matcher matcher = Pattern.compile("\"" + name + "\":\"([^\"]*)\"").matcher(json);
        assertThat(matcher.find()).as(json).isTrue();
        return matcher.group(1);
    }

    private static HttpResponse<String> administer(
            ServiceProcess service, String token, String method, String path, String body) throws Exception {
        return CLIENT.send(
                HttpRequest.newBuilder(service.uri(path))
                        .header("Authorization", "Bearer " + token)
                        .header("Content-Type", "application/json")
                        .method(
                                method,
                                body == null
                                        ? HttpRequest.BodyPublishers.noBody()
                                        : HttpRequest.BodyPublishers.ofString(body))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }

    @Test
    @TakesLong
    void aKilledServiceCanBeStartedAgainAtOnce() throws Exception {
        ServiceProcess service = startAndWait();
        service.close();

        startAndWait();
    }

    @Test
    void aDatabaseUrlThatCannotBeReadGetsOneLineWithoutItsPassword() throws Exception {
        ServiceProcess service = start(Map.of("ANNALS_DATABASE_URL", "postgresql://annals:s3cret@@db/annals"));

        assertThat(service.awaitEnd()).isEqualTo(1);
        assertThat(service.output)
                .singleElement()
                .asString()
                .contains("ANNALS_DATABASE_URL")
                .doesNotContain("s3cret");
    }

    @Test
    void aDatabaseThatCannotBeReachedGetsOneLineWithoutItsPassword() throws Exception {
        ServiceProcess service = start(Map.of("ANNALS_DATABASE_URL", "postgresql://annals:s3cret@127.0.0.1:1/annals"));

        assertThat(service.awaitEnd()).isEqualTo(1);
        assertThat(service.output)
                .singleElement()
                .asString()
                .contains("postgresql://annals@127.0.0.1:1/annals")
                .contains("refused")
                .doesNotContain("s3cret");
    }

    @Test
    void aServerWithoutTlsIsRefusedUnlessItIsHereOrTheUrlSaysSo() throws Exception {
        startAndWait();
        DatabaseUrl here = DatabaseUrl.parse(
                Files.readString(directory.resolve("database-url")).strip());
        // Leads to the loopback address, and is not known to.
        String elsewhere = "postgresql://annals:" + here.password() + "@0.0.0.0:" + here.port() + "/annals";

        ServiceProcess silent = start(Map.of("ANNALS_DATABASE_URL", elsewhere));
        assertThat(silent.awaitEnd()).isEqualTo(1);
        assertThat(silent.output)
                .singleElement()
                .asString()
                .contains("?sslmode=disable")
                .doesNotContain(here.password());

        start(Map.of("ANNALS_DATABASE_URL", elsewhere + "?sslmode=disable")).awaitListening();
    }

    @Test
    void thePasswordMayComeFromAFile() throws Exception {
        startAndWait();
        DatabaseUrl here = DatabaseUrl.parse(
                Files.readString(directory.resolve("database-url")).strip());
        String url = "postgresql://annals@127.0.0.1:" + here.port() + "/annals";
        Path secret = Files.writeString(directory.resolve("secret"), here.password() + "\n");

        start(Map.of("ANNALS_DATABASE_URL", url, "ANNALS_DATABASE_PASSWORD_FILE", secret.toString()))
                .awaitListening();

        ServiceProcess missing =
                start(Map.of("ANNALS_DATABASE_URL", url, "ANNALS_DATABASE_PASSWORD_FILE", secret + ".not"));
        assertThat(missing.awaitEnd()).isEqualTo(1);
        assertThat(missing.output)
                .singleElement()
                .asString()
                .contains("ANNALS_DATABASE_PASSWORD_FILE", secret + ".not");
    }

    @Test
    @TakesLong
    void thePortsOfTheServiceAreNeverTheDatabases() throws Exception {
        ServiceProcess first = startAndWait();
        first.process().destroy();
        first.awaitEnd();
        for (String setting : List.of("ANNALS_PORT", "ANNALS_MANAGEMENT_PORT")) {
            int port = DatabaseUrl.parse(
                            Files.readString(directory.resolve("database-url")).strip())
                    .port();
            ServiceProcess service = startAndWait(Map.of(setting, Integer.toString(port)));
            service.process().destroy();
            service.awaitEnd();
        }
    }

    @Test
    void aPortThatIsTakenIsNamedInOneSentence() throws Exception {
        for (String setting : List.of("ANNALS_PORT", "ANNALS_MANAGEMENT_PORT")) {
            try (ServerSocket taken = new ServerSocket(0)) {
                ServiceProcess service = start(Map.of(setting, Integer.toString(taken.getLocalPort())));

                assertThat(service.awaitEnd()).isEqualTo(1);
                assertThat(service.output)
                        .filteredOn(line -> line.contains(setting))
                        .singleElement()
                        .asString()
                        .contains(Integer.toString(taken.getLocalPort()));
                assertThat(service.output).noneMatch(line -> line.startsWith("\tat "));
            }
        }
    }

    @Test
    void aSettingOutOfItsLimitsIsNamedAndTheDatabaseIsStopped() throws Exception {
        ServiceProcess service = start(Map.of("ANNALS_DATABASE_POOL_SIZE", "0"));

        assertThat(service.awaitEnd()).isEqualTo(1);
        assertThat(String.join("\n", service.output)).contains("annals.database.pool-size");
        assertThat(directory.resolve("postgresql/postmaster.pid")).doesNotExist();
    }

    @Test
    void theFirstStartsCommandsWorkAsPastedAndARestartKeepsTheRecord() throws Exception {
        need(Files.exists(Path.of("/usr/bin/curl")), "curl, which the printed line is for");
        Path fresh = Files.createTempDirectory("annals-first-start-");
        Map<String, String> settings =
                Map.of("ANNALS_DATA_DIR", fresh.toString(), "ANNALS_PORT", Integer.toString(Ports.free()));
        ServiceProcess first = startAndWait(settings);
        assertThat(fresh.resolve("first-tokens"))
                .as("of a service that is ready")
                .isNotEmptyFile();
        Await.until(
                "the tour is printed",
                () -> TOUR.matcher(String.join("\n", first.output)).find());
        String printed = String.join("\n", first.output);
        assertThat(printed)
                .doesNotContain("=annals_")
                .contains(fresh.resolve("first-tokens").toString());
        assertThat(Files.getPosixFilePermissions(fresh.resolve("first-tokens")))
                .isEqualTo(PosixFilePermissions.fromString("rw-------"));
        Matcher tour = TOUR.matcher(printed);
        assertThat(tour.find()).as(printed).isTrue();

        String stored = shell(tour.group("export") + "\n" + tour.group("curl"));
        assertThat(stored).contains("\"sequence_id\":1", "\"action\":\"hello\"", "The first record");

        first.process().destroy();
        first.awaitEnd();
        ServiceProcess second = startAndWait(settings);
        assertThat(second.output).noneMatch(line -> line.contains("first tokens"));
        String read = tour.group("curl").replaceAll("(?s) -H \"Content-Type.*'", "");
        assertThat(shell(tour.group("export") + "\n" + read)).contains("\"sequence_id\":1", "\"action\":\"hello\"");
        second.process().destroy();
        second.awaitEnd();
        TestDatabase.deleteTree(fresh);
    }

    @Test
    @TakesLong
    void aRecordThatIsChangedIsFoundInTheBackground() throws Exception {
        ServiceProcess service = startAndWait(Map.of(
                "ANNALS_ADMIN_TOKEN", AuditLogFixture.ADMIN_TOKEN,
                "ANNALS_VERIFICATION_INTERVAL", "1s",
                "ANNALS_VERIFICATION_ROUND", "1s"));
        service.newProject(AuditLogFixture.ADMIN_TOKEN, "read");
        SqlFixture database = SqlFixture.on(DatabaseUrl.parse(
                Files.readString(directory.resolve("database-url")).strip()));
        // The log would record the change for good.
        Await.until(
                "all events are in the log, were verified and are sound",
                () -> database.number(
                                "select count(*) from annals.merkle_log join annals.verification using (project_id)"
                                        + " where project_id = annals.administration() and found = 0"
                                        + " and sequence_id = size and size = (select max(sequence_id) from annals.feed"
                                        + " where feed.project_id = annals.administration())")
                        == 1);
        String actions = "select count(*) from annals.audit_record where project_id = annals.administration()"
                + " and action = 'annals.verification.fail'";
        assertThat(database.number(actions)).isZero();

        // One of the events that every start leaves. The owner may do this, and changes it back for the tests after
        // this one.
        String change = "update annals.audit_record set action = %s where action = %s";
        database.run(
                "set local session_replication_role = replica",
                change.formatted("'annals.project.made'", "'annals.project.create'"));
        Await.until(
                "the metric says so",
                () -> get(service.managementUri("/q/metrics")).contains("annals_verification_unsound_projects 1.0"));
        assertThat(database.number(actions)).isPositive();
        // It is written after the metric is set, and read by another thread.
        Await.until(
                "the log says so",
                () -> service.output.stream()
                        .anyMatch(line -> line.contains(" ERROR ") && line.contains("is not sound")));
        database.run(
                "set local session_replication_role = replica",
                change.formatted("'annals.project.create'", "'annals.project.made'"));
        Await.until(
                "a whole round has found nothing",
                () -> get(service.managementUri("/q/metrics")).contains("annals_verification_unsound_projects 0.0"));
    }

    @Test
    void theTokensOfAnotherDatabaseAreNotReplaced() throws Exception {
        Path file = Files.createTempDirectory("annals-first-tokens-").resolve("first-tokens");
        Files.writeString(file, "those of another database");
        Map<String, String> settings = Map.of(
                "ANNALS_DATABASE_URL",
                TestDatabase.createDatabase().withPassword(),
                "ANNALS_FIRST_TOKENS_FILE",
                file.toString());

        ServiceProcess refused = startAndWait(settings);
        Await.until(
                "it says why it made none",
                () -> String.join("\n", refused.output).contains(file + " exists already"));
        assertThat(file).hasContent("those of another database");
        refused.process().destroy();
        refused.awaitEnd();

        Files.delete(file);
        ServiceProcess first = startAndWait(settings);
        Await.until("the tokens are written", () -> Files.exists(file));
        assertThat(file).content().contains("ANNALS_TOKEN=annals_");
        first.process().destroy();
        first.awaitEnd();
        TestDatabase.deleteTree(file.getParent());
    }

    private static String get(URI address) throws Exception {
        // One client for all: each has threads and keeps its connection.
        return CLIENT.send(HttpRequest.newBuilder(address).build(), HttpResponse.BodyHandlers.ofString())
                .body();
    }

    /** The standard output of a command. */
    private static String shell(String command) throws Exception {
        Process shell = new ProcessBuilder("bash", "-c", command)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        String printed = new String(shell.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(shell.waitFor()).as(printed).isZero();
        return printed;
    }

    private void assertThatItStoppedCleanly(ProcessHandle server) throws IOException {
        assertThat(server.onExit()).succeedsWithin(Duration.ofSeconds(10));
        assertThat(directory.resolve("postgresql/postmaster.pid")).doesNotExist();
        try (var logs = Files.list(directory.resolve("postgresql/log"))) {
            List<Path> found = logs.toList();
            assertThat(found).isNotEmpty();
            for (Path log : found) {
                List<String> lines = Files.readAllLines(log);
                assertThat(lines.get(lines.size() - 1)).endsWith("database system is shut down");
            }
        }
    }

    private ProcessHandle server() throws IOException {
        String pid = Files.readAllLines(directory.resolve("postgresql/postmaster.pid"))
                .get(0);
        return ProcessHandle.of(Long.parseLong(pid.strip())).orElseThrow();
    }

    private ServiceProcess start(Map<String, String> settings) throws IOException {
        Map<String, String> all = new HashMap<>(Map.of("ANNALS_DATA_DIR", directory.toString()));
        all.putAll(settings);
        ServiceProcess service = ServiceProcess.start(all);
        services.add(service);
        return service;
    }

    private ServiceProcess startAndWait() throws Exception {
        return startAndWait(Map.of());
    }

    private ServiceProcess startAndWait(Map<String, String> settings) throws Exception {
        ServiceProcess service = start(settings).awaitListening();
        Await.until("it is ready", () -> get(service.uri("/q/health/ready")).equals("{\"status\":\"UP\"}"));
        assertThat(get(service.managementUri("/q/health"))).contains("\"status\": \"UP\"", "\"checks\"");
        return service;
    }
}
