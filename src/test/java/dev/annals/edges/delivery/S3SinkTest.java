package dev.annals.edges.delivery;

import static dev.annals.ProblemAssertions.pointers;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;

import com.fasterxml.jackson.databind.JsonNode;
import com.sun.net.httpserver.HttpServer;
import dev.annals.Await;
import dev.annals.Slow;
import dev.annals.core.feed.Cursor;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.Note;
import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.Response;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A store has each record in exactly one object, whatever the service knows of it, and the objects are a chain. */
@Slow
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
class S3SinkTest extends OneStream {

    private static final String STREAM = "/v1/streams/archive";

    @TempDir
    Path directory;

    private ObjectStore store;

    S3SinkTest() {
        super(STREAM);
    }

    @BeforeEach
    void start() throws Exception {
        project = log.newProject("read", "write", "stream");
        store = new ObjectStore(directory);
    }

    @AfterEach
    void stop() throws Exception {
        project.wrongRequest().delete(STREAM);
        store.close();
        log.checkFeed(project.id());
    }

    private Response set(String url, String secret) {
        return project.request()
                .contentType("application/json")
                .body("{\"sink\": {\"type\": \"s3\", \"url\": \"" + url + "\", \"secret\": \"" + secret + "\"}}")
                .put(STREAM);
    }

    private void set() {
        set(store.url("bucket/logs/audit"), ObjectStore.KEYS).then().statusCode(201);
    }

    @Override
    void append(int count) throws Exception {
        log.run("insert into annals.audit_record (project_id, action, message) select '" + project.id()
                + "', 'act', 'Record ' || n || ' — \"x\"' from generate_series(1, " + count + ") as n");
    }

    /** The files of a generation, in the order of their names. */
    private List<Path> objects(int generation) throws IOException {
        Path folder =
                store.bucket.resolve("logs/audit/%s/%s/%06d".formatted(project.id(), get().path("id"), generation));
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(".ndjson.gz"))
                    .sorted()
                    .toList();
        }
    }

    static List<Long> ids(List<Path> objects) throws IOException {
        List<Long> ids = new ArrayList<>();
        for (Path object : objects) {
            try (BufferedReader lines = new BufferedReader(
                    new InputStreamReader(new GZIPInputStream(Files.newInputStream(object)), StandardCharsets.UTF_8))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    ids.add(JSON.readTree(line).path("sequence_id").asLong());
                }
            }
        }
        return ids;
    }

    private static List<Long> range(long from, long to) {
        return LongStream.rangeClosed(from, to).boxed().toList();
    }

    private static String shell(String command, Path directory) throws Exception {
        Process process = new ProcessBuilder("bash", "-euo", "pipefail", "-c", command)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }

    /** As docs/streaming.md shows it. */
    private static JsonNode head(Path object) throws Exception {
        return JSON.readTree(shell(
                "tail -c +11 " + object.getFileName() + " | tr '\\0' '\\n' | head -n 1 || true", object.getParent()));
    }

    @Test
    void eachRecordIsInOneObjectAndEachObjectNamesTheOneBefore() throws Exception {
        append(2_500);
        set();
        awaitLag(0);
        append(10);
        awaitLag(0);
        List<Path> objects = objects(0);
        assertThat(ids(objects)).isEqualTo(range(1, 2_510));
        assertThat(objects).hasSizeGreaterThanOrEqualTo(4);
        assertThat(objects.get(0).getFileName()).hasToString("000000000000000001.ndjson.gz");
        String before = "null";
        long end = 0;
        for (Path object : objects) {
            JsonNode head = head(object);
            assertThat(head.path("previous_sha256").asText("null")).isEqualTo(before);
            assertThat(object.getFileName()).hasToString("%018d.ndjson.gz".formatted(end + 1));
            before = shell("sha256sum " + object.getFileName(), object.getParent())
                    .substring(0, 64);
            end = Cursor.parse(head.path("up_to").asText()).orElseThrow().sequenceId();
            Checkpoint checkpoint =
                    Checkpoint.of(Note.parse(head.path("checkpoint").asText()));
            assertThat(checkpoint.size()).isGreaterThanOrEqualTo(end);
        }
        assertThat(end).isEqualTo(2_510);
    }

    /** As after a crash between the object and the note of it, with more records to deliver by then. */
    @Test
    void aCursorBehindTheStoreWritesNothingTwice() throws Exception {
        append(1_500);
        set();
        awaitLag(0);
        int objects = objects(0).size();
        for (String cursor : List.of("0", "700")) {
            log.run("update annals.stream_progress set cursor = '" + cursor + "' where stream_id = '" + get().path("id")
                    + "'");
            append(300);
            awaitLag(0);
        }
        assertThat(ids(objects(0))).isEqualTo(range(1, 2_100));
        assertThat(objects(0)).hasSize(objects + 2);
    }

    /** An object is never overwritten, also not one from another program. */
    @Test
    void oneWhoComesSecondLearnsWhereTheChainEnds() throws Exception {
        append(500);
        set();
        awaitLag(0);
        Path first = objects(0).get(0);
        byte[] bytes = Files.readAllBytes(first);
        post("pause").then().statusCode(200);
        append(50);
        post("test")
                .then()
                .statusCode(200)
                .body("outcome", equalTo("delivered"))
                .body("sequence_id", equalTo(501));
        assertThat(objects(0)).hasSize(1);
        post("resume").then().statusCode(200);
        awaitLag(0);
        assertThat(Files.readAllBytes(first)).isEqualTo(bytes);
        assertThat(ids(objects(0))).isEqualTo(range(1, 550));
    }

    private long looks() throws Exception {
        return log.number("select epoch from annals.stream_progress where stream_id = '" + get().path("id") + "'");
    }

    @Test
    void fewRecordsWaitForOthersAndAFullObjectDoesNot() throws Exception {
        set();
        // As if there was an object just now, by a clock that is ahead.
        log.run(
                "update annals.stream_progress set delivered_at = clock_timestamp() + interval '1 hour' where stream_id = '"
                        + get().path("id") + "'");
        append(600);
        long before = looks();
        Await.until("it has looked", () -> looks() > before + 5);
        assertThat(objects(0)).isEmpty();
        get().then().body("lag", equalTo(600)).body("failures", equalTo(0)).body("state", equalTo("active"));
        append(500);
        awaitLag(0);
        assertThat(ids(objects(0).subList(0, 1))).isEqualTo(range(1, 1_000));
        assertThat(ids(objects(0))).isEqualTo(range(1, 1_100));
    }

    @Test
    void oneThatIsRewoundBeginsAnotherGeneration() throws Exception {
        append(20);
        set();
        awaitLag(0);
        rewind("15");
        awaitLag(0);
        assertThat(ids(objects(0))).isEqualTo(range(1, 20));
        assertThat(ids(objects(1))).isEqualTo(range(16, 20));
        assertThat(head(objects(1).get(0)).path("previous").isNull()).isTrue();
        assertThat(head(objects(1).get(0)).path("behind").asText()).isEqualTo("15");
    }

    @Test
    void killedAgainAndAgainItHasEachRecordOnce() throws Exception {
        append(30_000);
        set();
        for (int kills = 1; kills <= 3; kills++) {
            int some = 5 * kills;
            Await.until(some + " objects are there", () -> objects(0).size() >= some);
            store.kill();
            Await.until("that is known", () -> "failing".equals(get().path("state")));
            store.start();
        }
        awaitLag(0);
        assertThat(ids(objects(0))).isEqualTo(range(1, 30_000));
    }

    @Test
    void aWrongKeyIsToldAndKeepsNothing() throws Exception {
        append(1);
        set(store.url("bucket"), ObjectStore.ACCESS_KEY + ":wrong" + ObjectStore.SECRET_KEY)
                .then()
                .statusCode(201);
        Await.until("it fails", () -> "failing".equals(get().path("state")));
        get().then().body("last_error", containsString("SignatureDoesNotMatch"));
        set(store.url("nobody"), ObjectStore.KEYS).then().statusCode(200);
        Await.until("it fails", () -> get().<String>path("last_error").contains("NoSuchBucket"));
    }

    @Test
    void aStoreThatOverwritesIsNotUsed() throws Exception {
        append(1);
        HttpServer careless =
                HttpServer.create(new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), 0), 0);
        careless.createContext("/", exchange -> {
            try (exchange) {
                exchange.getRequestBody().readAllBytes();
                exchange.sendResponseHeaders(exchange.getRequestMethod().equals("DELETE") ? 204 : 200, -1);
            }
        });
        careless.start();
        try {
            set("s3+http://127.0.0.1:" + careless.getAddress().getPort() + "/bucket", ObjectStore.KEYS)
                    .then()
                    .statusCode(201);
            Await.until("it fails", () -> "failing".equals(get().path("state")));
            get().then().body("last_error", containsString("overwrites"));
        } finally {
            careless.stop(0);
        }
    }

    @Test
    void aUrlOrASecretOfAnotherShapeIsRefused() {
        for (String url : List.of(
                "https://127.0.0.1/bucket",
                "s3+https://127.0.0.1/",
                "s3+https://127.0.0.1/bucket/../other",
                "s3+https://127.0.0.1/bucket/a%2Fb",
                "s3+https://key:secret@127.0.0.1/bucket",
                "s3+https://127.0.0.1/bucket?region=a&x=y",
                "s3+https://10.0.0.1/bucket")) {
            assertThat(pointers(set(url, ObjectStore.KEYS).then().extract()))
                    .as(url)
                    .containsExactly("/sink/url");
        }
        assertThat(pointers(
                        set("s3+https://127.0.0.1/bucket", "no colon").then().extract()))
                .containsExactly("/sink/secret");
    }
}
