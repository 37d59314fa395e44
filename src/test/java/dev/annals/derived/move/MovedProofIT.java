package dev.annals.derived.move;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.derived.log.GoPrograms;
import dev.annals.derived.log.TestWitness;
import dev.annals.derived.proof.MasterKey;
import dev.annals.proof.WitnessPolicy;
import dev.annals.tools.embedded.TestDatabase;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Verifiers that know a log from before a move accept it after the move, without knowing of the move. */
@Slow
@TakesLong
@Timeout(300)
class MovedProofIT {

    private static final String ADMIN = "a-token-for-administration";
    private static final String LOGS = AuditLogFixture.LOGS;
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int LIMIT_SECONDS = 60;

    @TempDir
    Path folder;

    private final SqlFixture home = SqlFixture.ofTheSchemaAlone();
    private final SqlFixture east = SqlFixture.on(TestDatabase.createDatabase());
    private @Nullable TestWitness witness;
    private ServiceProcess service;
    private Project project;
    private String vkey;
    private int size;

    @BeforeEach
    void start() throws Exception {
        Map<String, String> settings = new HashMap<>();
        settings.put("ANNALS_DATABASE_URL", home.database().withPassword());
        settings.put("ANNALS_DATABASES", "main,east");
        settings.put("ANNALS_DATABASES_EAST_URL", east.database().withPassword());
        settings.put("ANNALS_ADMIN_TOKEN", ADMIN);
        settings.put("ANNALS_LOG_KEY", AuditLogFixture.LOG_KEY);
        settings.put("ANNALS_LOG_INTERVAL", "50ms");
        if (GoPrograms.canBeBuilt()) {
            witness = TestWitness.start("witness.example/one", folder);
            settings.put("ANNALS_LOG_WITNESSES", witness.setting());
            settings.put("ANNALS_LOG_WITNESS_INTERVAL", "200ms");
        }
        service = ServiceProcess.start(settings).awaitListening();
        HttpRequest health =
                HttpRequest.newBuilder(service.managementUri("/q/health")).build();
        Await.until(
                "east is used",
                () -> HTTP.send(health, HttpResponse.BodyHandlers.ofString())
                        .body()
                        .contains("\"east\": \"reads and writes\""));
        project = service.newToken(ADMIN, newProject(), "read", "write");
        String origin = "localhost/v1/projects/" + project.id() + "/log/1";
        vkey = MasterKey.parse(AuditLogFixture.LOG_KEY).of(origin).verifier().toString();
        if (witness != null) {
            witness.add(vkey);
        }
    }

    @AfterEach
    void stop() {
        if (service != null) {
            service.close();
        }
        if (witness != null) {
            witness.close();
        }
    }

    private UUID newProject() throws Exception {
        HttpResponse<String> made =
                send(ADMIN, "POST", "/v1/projects", "{\"name\": \"moved\", \"database\": \"main\"}");
        return UUID.fromString(JSON.readTree(made.body()).path("id").asText());
    }

    private HttpResponse<String> send(String method, String path, String body) throws Exception {
        return send(project.token(), method, path, body);
    }

    private HttpResponse<String> send(String token, String method, String path, String body) throws Exception {
        return HTTP.send(
                HttpRequest.newBuilder(service.uri(path))
                        .header("Authorization", "Bearer " + token)
                        .header(
                                "Content-Type",
                                body.startsWith("{\"id\"") ? "application/x-ndjson" : "application/json")
                        .method(method, HttpRequest.BodyPublishers.ofString(body))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }

    private String get(String path) throws Exception {
        HttpResponse<String> answer = send("GET", LOGS + path, "");
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        return answer.body();
    }

    /** Sends it again while the project moves. The records have ids, so none is stored twice. */
    private void append(int count) throws Exception {
        String lines = IntStream.range(0, count)
                .mapToObj(n -> "{\"id\": \"" + UUID.randomUUID() + "\", \"action\": \"n\", \"message\": \""
                        + (size + n + 1) + "\"}\n")
                .collect(Collectors.joining());
        Await.until("the records are stored", () -> {
            HttpResponse<String> answer = send("POST", LOGS + "/import", lines);
            assertThat(answer.statusCode()).as(answer.body()).isIn(200, 503);
            return answer.statusCode() == 200;
        });
        size += count;
    }

    private void awaitLog() throws Exception {
        Await.until(
                "all records are in the log",
                () -> get("/log/1/checkpoint").lines().toList().get(1).equals(Integer.toString(size)));
    }

    private Path kept(String name) throws Exception {
        return Files.writeString(folder.resolve(name), get("/log/1/checkpoint"));
    }

    private void moveTo(String database) throws Exception {
        HttpResponse<String> accepted =
                send(ADMIN, "POST", "/v1/projects/moved/move", "{\"database\": \"" + database + "\"}");
        assertThat(accepted.statusCode()).as(accepted.body()).isEqualTo(202);
        append(67);
        Await.until(
                "the project has moved",
                () -> send(ADMIN, "GET", "/v1/projects/moved/move", "").body().contains("\"state\":\"moved\""));
    }

    private record Result(int exitCode, String output) {}

    private Result run(String... arguments) throws Exception {
        try (ServiceProcess command = ServiceProcess.start(client(), arguments)) {
            int exitCode = command.awaitEnd();
            return new Result(exitCode, String.join("\n", command.output));
        }
    }

    private Map<String, String> client() {
        return Map.of("ANNALS_URL", service.uri("").toString(), "ANNALS_TOKEN", project.token());
    }

    private String succeed(String... arguments) throws Exception {
        Result result = run(arguments);
        assertThat(result.exitCode()).as(result.output()).isZero();
        return result.output();
    }

    private String[] tail(String cursor, String... more) {
        return Stream.concat(
                        Stream.of(
                                "tail",
                                "--verify",
                                "--vkey=" + vkey,
                                "--cursor-file=" + folder.resolve(cursor),
                                "--from-start",
                                "--patience=20"),
                        Stream.of(more))
                .toArray(String[]::new);
    }

    /** Each knows the log from its last call, and refuses one that does not continue. */
    private void assertVerifiersGoOn() throws Exception {
        awaitLog();
        if (witness == null) {
            return;
        }
        Path output = folder.resolve("output");
        ProcessBuilder sumdb = new ProcessBuilder(
                GoPrograms.built("verifiers").toString(), folder.resolve("seen").toString());
        sumdb.environment().put("ANNALS_URL", service.uri(LOGS).toString());
        sumdb.environment().put("ANNALS_TOKEN", project.token());
        sumdb.environment().put("ANNALS_VKEY", vkey);
        assertThat(run(sumdb, output)).isEqualTo("verified " + size + " records\n");
        ProcessBuilder fsck = new ProcessBuilder(
                GoPrograms.fsck().toString(),
                "-storage_url=" + service.uri(LOGS + "/log/1/"),
                "-bearer_token=" + project.token(),
                "-public_key=" + Files.writeString(folder.resolve("vkey"), vkey),
                "-N=64",
                "-ui=false");
        assertThat(run(fsck, output)).contains(GoPrograms.FSCK_SUCCEEDS);
        WitnessPolicy policy = WitnessPolicy.of(List.of(witness.vkey()), 1);
        Await.until("the witness has cosigned all", () -> {
            HttpResponse<String> cosigned = send("GET", LOGS + "/log/1/checkpoint?witnesses=1", "");
            return cosigned.statusCode() == 200
                    && cosigned.body().contains("\n" + size + "\n")
                    && !policy.require(cosigned.body()).isEmpty();
        });
    }

    private static String run(ProcessBuilder command, Path output) throws Exception {
        Process process = command.redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        boolean ended = process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
        process.destroyForcibly().waitFor();
        assertThat(ended).isTrue();
        return Files.readString(output);
    }

    /** The name, keys, epochs and witnesses, without what grows. */
    private JsonNode description() throws Exception {
        ObjectNode description = (ObjectNode) JSON.readTree(get("/log"));
        description.retain("origin", "vkeys", "epoch", "epochs", "halted");
        return description;
    }

    @Test
    void eachVerifierGoesOnAcrossMoves() throws Exception {
        append(700);
        assertVerifiersGoOn();
        JsonNode description = description();
        Path before = kept("before");
        assertThat(records(succeed(tail("cursor")).lines())).isEqualTo(700);
        HttpResponse<String> tile = send("GET", LOGS + "/log/1/tile/0/001", "");
        try (ServiceProcess follower = ServiceProcess.start(client(), tail("followed", "--follow"))) {
            Thread reading = new Thread(() -> readToTheEnd(follower));
            reading.start();
            Await.until("the follower has all", () -> records(follower.output.stream()) == 700);
            for (String database : List.of("east", "main")) {
                moveTo(database);
                assertGoesOn(database, before, description);
                assertThat(records(succeed(tail("cursor")).lines())).isEqualTo(167);
                int all = size;
                Await.until("the follower has all", () -> records(follower.output.stream()) == all);
                assertThat(follower.process().isAlive()).isTrue();
                (database.equals("east") ? home : east).removeLeft(project.id());
            }
        }
        assertThat(send("GET", LOGS + "/log/1/tile/0/001", "").body()).isEqualTo(tile.body());
        assertChangesAtThePlaceAreSeen();
    }

    private static void readToTheEnd(ServiceProcess follower) {
        try {
            follower.awaitEnd();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static long records(Stream<String> lines) {
        return lines.filter(line -> line.contains("  n  ")).count();
    }

    private void assertGoesOn(String database, Path before, JsonNode description) throws Exception {
        SqlFixture place = database.equals("east") ? east : home;
        append(100);
        assertVerifiersGoOn();
        assertThat(place.number("select count(*) from annals.merkle_log where size = " + size
                        + " and incarnation = annals.incarnation() and project_id = '" + project.id() + "'"))
                .isEqualTo(1);
        assertThat(description()).isEqualTo(description);
        Path file = folder.resolve("proved in " + database);
        succeed("export", "--proof", "--vkey=" + vkey, "--output=" + file);
        assertThat(succeed("check", file.toString(), "--vkey=" + vkey, "--against=" + before))
                .contains("records 1 to " + size);
        assertThat(place.checkFeed(project.id())).isEqualTo(size);
    }

    /** Verifiers read the database that has the project. */
    private void assertChangesAtThePlaceAreSeen() throws Exception {
        home.run(
                "set local session_replication_role = replica",
                "update annals.audit_record set action = 'forged' where message = '300' and project_id = '"
                        + project.id() + "'");
        Result refused = run(tail("new"));
        assertThat(refused.exitCode()).as(refused.output()).isEqualTo(6);
        assertThat(refused.output()).contains("are not those of the log");
    }
}
