package dev.annals.tools.ops;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.Await;
import dev.annals.PackagedService;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A dump of the service's own database brings back all that was answered before it, or is refused as a whole. */
@Slow
@TakesLong
@Timeout(300)
class DumpIT {

    private static final HttpClient CLIENT = HttpClient.newHttpClient();

    @TempDir
    static Path directory;

    private static PackagedService service;

    @BeforeAll
    static void start() throws Exception {
        service = new PackagedService(directory.resolve("data"));
    }

    @AfterAll
    static void stop() {
        if (service != null) {
            service.close();
        }
    }

    @Test
    void aDumpUnderLoadIsRestoredWithTheSameFeedAndIsSoundAndForksNoLog() throws Exception {
        Path dump = directory.resolve("dump.tar.gz");
        Path restored = directory.resolve("restored");
        String before;
        AtomicBoolean enough = new AtomicBoolean();
        AtomicInteger stored = new AtomicInteger();
        CompletableFuture<Void> load = CompletableFuture.runAsync(() -> appendUntil(enough, stored));
        try {
            Await.until("records are stored", () -> stored.get() > 50);
            assertThat(get(service.uri(), "/log/1/checkpoint").statusCode()).isEqualTo(200);
            before = get(service.uri(), "/export?format=ndjson").body();

            assertThat(run(0, own(), "dump", dump.toString())).contains("% are copied", "is complete");

            int during = stored.get();
            Await.until("records are stored behind the dump", () -> stored.get() > during + 50);
        } finally {
            enough.set(true);
            load.join();
        }
        assertThat(Files.getPosixFilePermissions(dump)).isEqualTo(PosixFilePermissions.fromString("rw-------"));
        assertThat(run(0, Map.of("ANNALS_DATA_DIR", restored.toString()), "restore", dump.toString()))
                .contains("files are restored");

        assertThat(run(0, Map.of("ANNALS_DATA_DIR", restored.toString()), "verify"))
                .startsWith("Sound: ");
        // The worst case: a key without what it has signed.
        Files.copy(data().resolve("log-key"), restored.resolve("log-key"));
        try (ServiceProcess copy = ServiceProcess.start(Map.of("ANNALS_DATA_DIR", restored.toString()))
                .awaitListening()) {
            String feed = get(copy.uri(""), "/export?format=ndjson").body();
            String source = get(service.uri(), "/export?format=ndjson").body();
            assertThat(source).startsWith(feed);
            assertThat(feed).startsWith(before);
            HttpResponse<String> checkpoint = get(copy.uri(""), "/log/1/checkpoint");
            assertThat(checkpoint.statusCode()).as(checkpoint.body()).isEqualTo(503);
            assertThat(checkpoint.body()).contains("log-halted", "/00000001/", "this one is", "/00000002/");
            assertThat(append(copy.uri("")).statusCode()).isEqualTo(201);
            copy.process().destroy();
            copy.awaitEnd();
        }
        assertThat(get(service.uri(), "/log/1/checkpoint").statusCode()).isEqualTo(200);
    }

    @Test
    void aRestoreNamesTheKeysThatItLacks() throws Exception {
        assertThat(get(service.uri(), "/log/1/checkpoint").statusCode()).isEqualTo(200);
        String token = new ObjectMapper()
                .readTree(administer(
                        "POST", "/v1/projects/default/tokens", service.adminToken(), "{\"scopes\": [\"stream\"]}"))
                .get("token")
                .asText();
        administer("PUT", "/v1/streams/hook", token, """
                {"sink": {"type": "webhook", "url": "https://hooks.example.org/in", "secret": "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}""");
        Path dump = directory.resolve("with-keys.tar.gz");
        assertThat(run(0, own(), "dump", dump.toString())).contains("keep copies of log-key and streams-key in ");

        Path without = directory.resolve("without-keys");
        assertThat(run(0, Map.of("ANNALS_DATA_DIR", without.toString()), "restore", dump.toString()))
                .containsPattern("The key of [12] signed logs is missing. Put your copy at .*/without-keys/log-key ")
                .containsPattern(
                        "The key of 1 streams with a secret is missing. Put your copy at .*/without-keys/streams-key ");

        String logKey = "--log-key=" + data().resolve("log-key");
        String streamsKey = "--streams-key=" + data().resolve("streams-key");
        assertThat(run(
                        0,
                        Map.of("ANNALS_DATA_DIR", directory.resolve("with-keys").toString()),
                        "restore",
                        logKey,
                        streamsKey,
                        dump.toString()))
                .containsPattern("log-key is that of all [12] signed logs.")
                .contains("streams-key is that of all 1 streams with a secret.")
                .doesNotContain("missing");

        Path others = Files.createDirectory(directory.resolve("others"));
        run(0, Map.of(), "log", "keygen", others.resolve("log-key").toString());
        Files.writeString(others.resolve("streams-key"), "0".repeat(64));
        assertThat(run(
                        1,
                        Map.of(
                                "ANNALS_DATA_DIR",
                                        directory.resolve("with-others").toString(),
                                "ANNALS_LOG_KEY_FILE", others.resolve("log-key").toString(),
                                "ANNALS_STREAMS_KEY_FILE",
                                        others.resolve("streams-key").toString()),
                        "restore",
                        dump.toString()))
                .contains("files are restored")
                .containsPattern("log-key is not that of [12] of [12] signed logs, such as ")
                .contains("streams-key is not that of 1 of 1 streams with a secret, such as hook.");
    }

    private static String administer(String method, String path, String token, String body) throws Exception {
        HttpResponse<String> answer = CLIENT.send(
                HttpRequest.newBuilder(service.uri().resolve(path))
                        .header("Authorization", "Bearer " + token)
                        .header("Content-Type", "application/json")
                        .method(method, HttpRequest.BodyPublishers.ofString(body))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(201);
        return answer.body();
    }

    @Test
    void aDumpThatIsKilledLeavesNoFileUnderItsNameAndNothingInTheDatabase() throws Exception {
        Path dump = directory.resolve("killed.tar.gz");
        Path partial = directory.resolve("killed.tar.gz.partial");
        try (ServiceProcess program = ServiceProcess.start(own(), "dump", dump.toString())) {
            Await.until("it is under way", () -> Files.exists(partial) && Files.size(partial) > 100_000);
            program.process().destroyForcibly().onExit().join();
        }

        assertThat(dump).doesNotExist();
        assertNothingIsRestored(partial, "is no complete dump");
        SqlFixture database = SqlFixture.on(service.database());
        Await.until(
                "the database has ended the backup",
                () -> database.text("select count(*) from pg_replication_slots").equals("0"));
        run(0, own(), "dump", dump.toString());
        assertThat(dump).exists();
        assertThat(partial).doesNotExist();
        assertThat(run(1, own(), "dump", dump.toString())).contains("exists already");
    }

    @Test
    void aDamagedDumpIsRefusedAsAWhole() throws Exception {
        Path folder = Files.createDirectory(directory.resolve("dumps"));
        run(0, own(), "dump", folder.toString());
        Path dump;
        try (Stream<Path> files = Files.list(folder)) {
            dump = files.findFirst().orElseThrow();
        }
        assertThat(dump.getFileName().toString()).matches("annals-\\d{8}T\\d{6}Z\\.tar\\.gz");
        byte[] whole = Files.readAllBytes(dump);
        for (int at : List.of(20, whole.length / 3, whole.length / 2, whole.length - 100_000, whole.length - 3)) {
            byte[] flipped = whole.clone();
            flipped[at] ^= 1;
            assertNothingIsRestored(Files.write(directory.resolve("damaged"), flipped), "no complete dump");
        }
        for (int length : List.of(0, 1_000, whole.length / 2, whole.length - 1)) {
            assertNothingIsRestored(
                    Files.write(directory.resolve("damaged"), Arrays.copyOf(whole, length)), "no complete dump");
        }
        // Such as a volume that is mounted there.
        Path empty = Files.createDirectory(directory.resolve("empty"));
        run(
                1,
                Map.of("ANNALS_DATA_DIR", empty.toString()),
                "restore",
                directory.resolve("damaged").toString());
        assertThat(empty).isEmptyDirectory();
        Files.delete(empty);
        Path taken = Files.createDirectory(directory.resolve("taken"));
        Path other = Files.writeString(taken.resolve("other"), "somebody's");
        assertThat(run(1, Map.of("ANNALS_DATA_DIR", taken.toString()), "restore", dump.toString()))
                .contains("is not empty");
        assertThat(other).hasContent("somebody's");
        assertThat(taken).isDirectoryNotContaining(file -> !file.equals(other));
        assertThat(run(1, own(), "restore", dump.toString())).contains("is not empty");
        assertThat(run(1, Map.of("ANNALS_DATA_DIR", directory.resolve("no").toString()), "dump", "x"))
                .contains("There is no database");
        assertThat(run(
                        1,
                        Map.of("ANNALS_DATABASE_URL", service.database().withPassword()),
                        "dump",
                        directory.resolve("never").toString()))
                .contains("pg_dump");
    }

    private static void assertNothingIsRestored(Path dump, String reason) throws Exception {
        Path target = directory.resolve("never-made");
        assertThat(run(1, Map.of("ANNALS_DATA_DIR", target.toString()), "restore", dump.toString()))
                .contains(reason);
        assertThat(target).doesNotExist();
    }

    private static Path data() {
        return directory.resolve("data");
    }

    private static Map<String, String> own() {
        return Map.of("ANNALS_DATA_DIR", data().toString());
    }

    private static void appendUntil(AtomicBoolean enough, AtomicInteger stored) {
        try {
            while (!enough.get()) {
                assertThat(append(service.uri()).statusCode()).isEqualTo(201);
                stored.incrementAndGet();
            }
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static HttpResponse<String> append(URI at) throws IOException, InterruptedException {
        return CLIENT.send(
                request(at, "")
                        .header("Content-Type", "application/json")
                        .POST(HttpRequest.BodyPublishers.ofString(
                                "{\"action\": \"load\", \"message\": \"" + "x".repeat(500) + "\"}"))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }

    private static HttpResponse<String> get(URI at, String path) throws IOException, InterruptedException {
        return CLIENT.send(request(at, path).build(), HttpResponse.BodyHandlers.ofString());
    }

    private static HttpRequest.Builder request(URI at, String path) {
        return HttpRequest.newBuilder(at.resolve("/v1/project-logs" + path))
                .header("Authorization", "Bearer " + service.token());
    }

    private static String run(int exitCode, Map<String, String> settings, String... command) throws Exception {
        try (ServiceProcess program = ServiceProcess.start(settings, command)) {
            int ended = program.awaitEnd();
            String printed = String.join("\n", program.output);
            assertThat(ended).as(printed).isEqualTo(exitCode);
            assertThat(printed).doesNotContain("\tat ");
            return printed;
        }
    }
}
