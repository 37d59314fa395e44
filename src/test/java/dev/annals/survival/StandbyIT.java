package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.derived.log.KeyFile;
import dev.annals.derived.proof.MasterKey;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.Hash;
import dev.annals.proof.MerkleTree;
import dev.annals.proof.VerifierKey;
import dev.annals.tools.embedded.InstalledPostgres;
import dev.annals.tools.embedded.StandbyPair;
import dev.annals.tools.ops.LogCommands;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** An instance on a hot standby reads what is there, waits for what is not, refuses writes, and says what it is for. */
@Slow
@Timeout(300)
class StandbyIT {

    private static final String ADMIN = "a-token-for-administration";
    private static final String FEED = "/v1/project-logs";
    private static final String CHECKPOINT = FEED + "/log/1/checkpoint";
    private static final String RECORD = "{\"action\": \"a\"}";

    @TempDir
    Path directory;

    private final MasterKey key = MasterKey.draw();
    private final HttpClient http = HttpClient.newHttpClient();
    private StandbyPair servers;
    private ServiceProcess writing;
    private ServiceProcess reading;
    private Project project;

    @BeforeEach
    void startAll() throws Exception {
        servers = StandbyPair.start(directory);
        writing = start(servers.primary(), Map.of());
        project = writing.newProject(ADMIN, "read", "write");
        servers.startStandby();
        // A request that is tried again is not answered before the test's end.
        reading = start(
                servers.standby(),
                Map.of(
                        "ANNALS_VERIFICATION_INTERVAL", "1s",
                        "ANNALS_DATABASE_MIGRATE_AT_START", "false",
                        "ANNALS_APPEND_RETRIES", "100"));
    }

    /** Each host has the key, and notes of its own of what was signed. */
    private Path keyOf(InstalledPostgres server) throws IOException {
        Path file = directory.resolve("log-key-" + server.url("postgres").port());
        if (!Files.exists(file)) {
            KeyFile.write(file, key);
        }
        return file;
    }

    private ServiceProcess start(InstalledPostgres server, Map<String, String> settings) throws Exception {
        Map<String, String> all = new HashMap<>(settings);
        all.put("ANNALS_DATABASE_URL", server.url("postgres").withPassword());
        all.put("ANNALS_ADMIN_TOKEN", ADMIN);
        all.put("ANNALS_LOG_KEY_FILE", keyOf(server).toString());
        all.put("ANNALS_LOG_HOST", "audit.example.org");
        return ServiceProcess.start(all).awaitListening();
    }

    @AfterEach
    void stopAll() {
        for (ServiceProcess service : new ServiceProcess[] {reading, writing}) {
            if (service != null) {
                service.close();
            }
        }
        if (servers != null) {
            servers.close();
        }
    }

    @Test
    void aCursorThatTheStandbyHasNotReachedGetsAnEmptyPageAndNotAFeedThatWasSetBack() throws Exception {
        append(3);
        servers.awaitReplay();
        SqlFixture.on(servers.standby().url("postgres")).runEach("select pg_wal_replay_pause()");
        append(2);
        String ahead = cursorOf(get(writing, FEED));
        assertThat(ahead).startsWith("5-");

        for (String filter : List.of("", "&action=a", "&q=nothing")) {
            JsonNode page = json(get(reading, FEED + "?cursor=" + ahead + filter));
            assertThat(page.get("results")).isEmpty();
            assertThat(page.get("next").isNull()).isTrue();
            assertThat(page.get("poll_more").textValue()).contains("cursor=" + ahead);
        }
        JsonNode back = json(get(reading, FEED + "?order=desc&cursor=" + ahead + "." + ahead));
        assertThat(back.get("results")).isEmpty();
        assertThat(back.get("next").textValue()).contains("cursor=" + ahead + "." + ahead);
        String seen = cursorOf(get(reading, FEED + "?limit=2"));
        assertThat(get(reading, FEED + "?cursor=" + seen).statusCode()).isEqualTo(200);
        assertThat(get(reading, FEED + "?cursor=2-00000000").statusCode()).isEqualTo(409);
        // It cannot leave its event here, and is more worth than that.
        assertThat(get(reading, FEED + "/export").statusCode()).isEqualTo(200);

        CompletableFuture<HttpResponse<String>> waiting = http.sendAsync(
                request(reading, FEED + "?wait=60&cursor=" + ahead).build(), HttpResponse.BodyHandlers.ofString());
        SqlFixture.on(servers.standby().url("postgres")).runEach("select pg_wal_replay_resume()");
        append(1);
        JsonNode found = json(waiting.get(60, TimeUnit.SECONDS)).get("results");
        assertThat(found).hasSize(1);
        assertThat(found.get(0).get("sequence_id").longValue()).isEqualTo(6);
    }

    @Test
    void writesAreRefusedAtOnceReadinessSaysWhyAndAPromotionEndsIt() throws Exception {
        append(3);
        Checkpoint before = signed(writing, 3);
        servers.awaitReplay();

        HttpResponse<String> refused = post(reading);
        assertThat(refused.statusCode()).as(refused.body()).isEqualTo(503);
        assertThat(refused.headers().firstValue("Retry-After")).isPresent();
        assertThat(json(refused).get("detail").textValue()).contains("hot standby");
        assertThat(get(reading, "/q/health/ready").statusCode()).isEqualTo(200);
        assertThat(health()).contains("hot standby");
        assertThat(reading.output).noneMatch(line -> line.startsWith("\tat "));
        assertThat(reading.output.stream().filter(line -> line.contains(" WARN ") || line.contains(" ERROR ")))
                .hasSizeLessThan(10);

        SqlFixture.on(servers.standby().url("postgres")).runEach("select pg_promote()");
        HttpResponse<String> taken = post(reading);
        assertThat(taken.statusCode()).as(taken.body()).isEqualTo(201);
        assertThat(json(taken).get("sequence_id").longValue()).isEqualTo(4);
        Await.until("readiness says so", () -> !health().contains("hot standby"));
        assertLogWaitsForSomebodyAndIsNoFork(before);
    }

    /** Only an operator can know that the standby had all signed records. */
    private void assertLogWaitsForSomebodyAndIsNoFork(Checkpoint before) throws Exception {
        Await.until("the log is halted", () -> get(reading, CHECKPOINT).statusCode() == 503);
        assertThat(get(reading, CHECKPOINT).body()).contains("log-halted").contains("a standby was promoted");
        assertThat(get(writing, CHECKPOINT).statusCode()).isEqualTo(200);

        assertThat(LogCommands.resume(servers.standby().url("postgres"), project.id()))
                .isZero();
        Checkpoint after = signed(reading, 4);
        JsonNode proof = json(get(reading, FEED + "/log/consistency?from=3&to=4"));
        List<Hash> hashes = new ArrayList<>();
        proof.get("hashes").forEach(hash -> hashes.add(Hash.parse(hash.textValue())));
        assertThat(MerkleTree.isConsistent(3, before.root(), 4, after.root(), hashes))
                .isTrue();
    }

    /** The checkpoint that covers so many records, as soon as there is one. */
    private Checkpoint signed(ServiceProcess service, long size) throws Exception {
        List<VerifierKey> keys = new ArrayList<>();
        json(get(service, FEED + "/log")).get("vkeys").forEach(vkey -> keys.add(VerifierKey.parse(vkey.textValue())));
        AtomicReference<Checkpoint> found = new AtomicReference<>();
        Await.until("a checkpoint of " + size + " records", () -> {
            HttpResponse<String> note = get(service, CHECKPOINT);
            if (note.statusCode() == 200) {
                found.set(Checkpoint.open(note.body(), keys));
            }
            return found.get() != null && found.get().size() == size;
        });
        return found.get();
    }

    private String health() throws Exception {
        HttpRequest asked =
                HttpRequest.newBuilder(reading.managementUri("/q/health")).build();
        return http.send(asked, HttpResponse.BodyHandlers.ofString()).body();
    }

    private void append(int count) throws Exception {
        for (int i = 0; i < count; i++) {
            assertThat(post(writing).statusCode()).isEqualTo(201);
        }
    }

    private HttpResponse<String> post(ServiceProcess service) throws Exception {
        return http.send(
                request(service, FEED)
                        .header("Content-Type", "application/json")
                        .POST(HttpRequest.BodyPublishers.ofString(RECORD))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }

    private HttpResponse<String> get(ServiceProcess service, String path) throws Exception {
        return http.send(request(service, path).build(), HttpResponse.BodyHandlers.ofString());
    }

    private HttpRequest.Builder request(ServiceProcess service, String path) {
        return HttpRequest.newBuilder(service.uri(path)).header("Authorization", "Bearer " + project.token());
    }

    private static JsonNode json(HttpResponse<String> answer) throws Exception {
        assertThat(answer.statusCode()).as(answer.body()).isIn(200, 201, 503);
        return new ObjectMapper().readTree(answer.body());
    }

    private static String cursorOf(HttpResponse<String> page) throws Exception {
        String query = URI.create(json(page).get("poll_more").textValue()).getQuery();
        return query.replaceAll(".*cursor=([^&]*).*", "$1");
    }
}
