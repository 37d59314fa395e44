package dev.annals.derived.log;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.Slow;
import dev.annals.TakesLong;
import dev.annals.derived.projection.RandomRecords;
import dev.annals.derived.proof.MasterKey;
import dev.annals.derived.proof.SigningKey;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.Hash;
import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Third-party verifiers accept a log that the service serves, and refuse changes in the database or on the way: {@code fsck} of
 * transparency-dev/tessera, and golang.org/x/mod and transparency-dev/merkle in a program of ours.
 */
@Slow
@TakesLong
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
@Timeout(600)
class OtherVerifiersTest {

    private static final int LIMIT_SECONDS = 60;
    private static final int RECORDS = 700;
    private static final int ENTRY = 2 + Hash.BYTES;

    @TestHTTPResource("/")
    URI service;

    @Inject
    TileCache tiles;

    @TempDir
    Path folder;

    private final AuditLogFixture log = new AuditLogFixture();
    private final Random random = new Random(20260301);
    private Project project;
    private Path verifier;
    private Path fsck;
    private String vkey;
    private InTheMiddle middle;

    @BeforeEach
    void prepare() throws Exception {
        verifier = GoPrograms.built("verifiers");
        fsck = GoPrograms.fsck();
        project = log.newProject();
        append(RECORDS);
        awaitLog(RECORDS);
        vkey = new LogReader(project)
                .get(AuditLogFixture.LOGS + "/log")
                .then()
                .statusCode(200)
                .extract()
                .path("vkeys[0]");
        Files.writeString(folder.resolve("vkey"), vkey);
        middle = new InTheMiddle(service);
    }

    private void append(int count) throws Exception {
        try (Connection connection = log.connect()) {
            RandomRecords.append(connection, project.id(), count, random);
            connection.commit();
        }
    }

    private void awaitLog(int size) throws Exception {
        LogReader reader = new LogReader(project);
        Await.until(size + " records are in the log", () -> reader.next().size() == size);
    }

    @AfterEach
    void stop() {
        if (middle != null) {
            middle.close();
        }
    }

    private record Result(int exitCode, String output) {}

    /** Runs a program. One that exceeds the time limit is killed, and has failed. */
    private static Result run(ProcessBuilder command) throws Exception {
        Path output = Files.createTempFile("verifier", ".log");
        try {
            Process process = command.redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
            boolean ended = process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
            process.destroyForcibly().waitFor();
            return new Result(ended ? process.exitValue() : -1, Files.readString(output));
        } finally {
            Files.delete(output);
        }
    }

    private Result verify() throws Exception {
        ProcessBuilder command =
                new ProcessBuilder(verifier.toString(), folder.resolve("seen").toString());
        command.environment().put("ANNALS_URL", middle.uri() + AuditLogFixture.LOGS);
        command.environment().put("ANNALS_TOKEN", project.token());
        command.environment().put("ANNALS_VKEY", vkey);
        return run(command);
    }

    private void assertVerified(int records) throws Exception {
        Result result = verify();
        assertThat(result.output()).isEqualTo("verified " + records + " records\n");
        assertThat(result.exitCode()).isZero();
    }

    private void assertRefused(String what) throws Exception {
        Result result = verify();
        assertThat(result.output()).as(what).startsWith("refused: ");
        assertThat(result.exitCode()).isEqualTo(1);
    }

    /** Reads the last sentence of the output, because the program exits with 0 also after a failure, and may not end. */
    private boolean passesFsck() throws Exception {
        Result result = run(new ProcessBuilder(
                fsck.toString(),
                "-storage_url=" + middle.uri() + AuditLogFixture.LOGS + "/log/1/",
                "-bearer_token=" + project.token(),
                "-public_key=" + folder.resolve("vkey"),
                "-N=64",
                "-ui=false"));
        return result.output().contains(GoPrograms.FSCK_SUCCEEDS);
    }

    @Test
    void theyAcceptALogThatGrows() throws Exception {
        int size = RECORDS;
        for (int more : new int[] {0, 1, 67, 256, 1000}) {
            append(more);
            size += more;
            awaitLog(size);
            assertVerified(size);
            assertThat(passesFsck()).isTrue();
        }
    }

    @Test
    void theyAcceptRedactedRecordsAndRefuseOthersInTheirPlace() throws Exception {
        String record = log.text("select id from annals.feed where project_id = '" + project.id()
                + "' and message is not null order by sequence_id limit 1");
        Project redacting = new Project(project.id(), log.newToken(project.id(), "read", "redact"));
        redacting
                .wrongRequest()
                .contentType("application/json")
                .body("{\"fields\": [\"message\"], \"reason\": \"a reason\"}")
                .post(AuditLogFixture.LOGS + "/" + record + "/redactions")
                .then()
                .statusCode(200);
        awaitLog(RECORDS + 1);
        assertVerified(RECORDS + 1);
        assertThat(passesFsck()).isTrue();
        for (String digest : List.of("\"redacted\":{\"message\":\"", "\"salts\":{\"action\":\"")) {
            middle.change(AuditLogFixture.LOGS, text(body -> {
                int at = body.indexOf(digest) + digest.length();
                return at < digest.length()
                        ? body
                        : body.substring(0, at) + (body.charAt(at) == 'B' ? 'C' : 'B') + body.substring(at + 1);
            }));
            assertRefused(digest);
            assertThat(middle.changed).as(digest).isTrue();
        }
    }

    /** A change of an answer between the service and the reader. */
    private interface Change {
        byte[] of(byte[] body) throws Exception;
    }

    private static Change text(UnaryOperator<String> change) {
        return body -> change.apply(new String(body, StandardCharsets.UTF_8)).getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] changed(byte[] body, int at) {
        byte[] changed = body.clone();
        changed[at] ^= 1;
        return changed;
    }

    private static byte[] swapped(byte[] body, int width, int one, int other) {
        byte[] swapped = body.clone();
        System.arraycopy(body, one * width, swapped, other * width, width);
        System.arraycopy(body, other * width, swapped, one * width, width);
        return swapped;
    }

    private static byte[] cut(byte[] body, int bytes) {
        return Arrays.copyOf(body, body.length - bytes);
    }

    private String forged(long size, Hash root) {
        Checkpoint forged = new Checkpoint(vkey.substring(0, vkey.indexOf('+')), size, root);
        return SigningKey.sign(forged, List.of(MasterKey.draw().of(forged.origin())))
                .toString();
    }

    /** Changes to files that both verifiers read, by the end of the URL. */
    private Map<String, Map.Entry<String, Change>> changes() {
        String partial = "002.p/" + (RECORDS - 512);
        Map<String, Map.Entry<String, Change>> all = new LinkedHashMap<>();
        all.put("an entry", Map.entry("/tile/entries/001", body -> changed(body, ENTRY * 7 + 20)));
        all.put("an entry of the last bundle", Map.entry("/tile/entries/" + partial, body -> changed(body, 33)));
        all.put("two entries", Map.entry("/tile/entries/001", body -> swapped(body, ENTRY, 7, 200)));
        all.put("two last entries", Map.entry("/tile/entries/" + partial, body -> swapped(body, ENTRY, 0, 1)));
        all.put("the end of a bundle", Map.entry("/tile/entries/" + partial, body -> cut(body, ENTRY)));
        all.put("a tile", Map.entry("/tile/0/001", body -> changed(body, Hash.BYTES * 7)));
        all.put("a tile above", Map.entry("/tile/1/000.p/2", body -> swapped(body, Hash.BYTES, 0, 1)));
        all.put("the end of a tile", Map.entry("/tile/0/" + partial, body -> cut(body, Hash.BYTES)));
        all.put("the size", Map.entry("/checkpoint", text(note -> note.replace("\n" + RECORDS + "\n", "\n699\n"))));
        all.put("the origin", Map.entry("/checkpoint", text(note -> note.replace("/log/1", "/log/2"))));
        all.put("the root", Map.entry("/checkpoint", body -> changed(body, vkey.indexOf('+') + 10)));
        all.put("the signature", Map.entry("/checkpoint", body -> changed(body, body.length - 20)));
        all.put("the signer", Map.entry("/checkpoint", text(note -> forged(RECORDS, Hash.EMPTY_TREE))));
        all.put("the tail", Map.entry("/checkpoint", text(note -> forged(0, Hash.EMPTY_TREE))));
        return all;
    }

    @Test
    void theyRefuseWhatIsChangedOnTheWay() throws Exception {
        assertVerified(RECORDS);
        for (Map.Entry<String, Map.Entry<String, Change>> change : changes().entrySet()) {
            String what = change.getKey();
            middle.change(change.getValue().getKey(), change.getValue().getValue());
            assertRefused(what);
            assertThat(passesFsck()).as(what).isFalse();
            assertThat(middle.changed).as(what).isTrue();
        }
        middle.change("nothing", body -> body);
        assertVerified(RECORDS);
        assertThat(passesFsck()).isTrue();
    }

    @Test
    void recordsThatAreChangedOnTheWayAreRefused() throws Exception {
        Map<String, Change> changes = Map.of(
                "an action", text(page -> page.replaceFirst("\"action 1\"", "\"action 2\"")),
                "an outcome", text(page -> page.replaceFirst("\"outcome\":\"outcome 1\",", "")),
                "metadata", text(page -> page.replaceFirst("\"metadata\":\\{\\}", "\"metadata\":{\"a\":1}")),
                "a record", text(page -> page.replaceFirst(",\\{\"id\":.*?\"seed\":\"[^\"]*\"\\}", "")));
        for (Map.Entry<String, Change> change : changes.entrySet()) {
            middle.change(AuditLogFixture.LOGS, change.getValue());
            assertRefused(change.getKey());
            assertThat(middle.changed).as(change.getKey()).isTrue();
        }
    }

    /** Changes by the database's owner, with every trigger off; ? is the project. Each changes another log. */
    private static Map<String, String> tampering() {
        Map<String, String> all = new LinkedHashMap<>();
        all.put("changes a record of the last tile", """
                update annals.audit_record set action = 'forged' where project_id = '?' and id =
                  (select id from annals.feed where project_id = '?' and sequence_id = 600)""");
        all.put("changes an entry", """
                update annals.merkle_tile set hashes = set_byte(hashes, 70, get_byte(hashes, 70) # 1)
                where project_id = '?' and level = 0 and tile = 1""");
        all.put("swaps two entries", """
                update annals.merkle_tile
                set hashes = substr(hashes, 33, 32) || substr(hashes, 1, 32) || substr(hashes, 65)
                where project_id = '?' and level = 0 and tile = 1""");
        all.put("cuts the tail", """
                delete from annals.feed_segment where project_id = '?';
                delete from annals.merkle_tile where project_id = '?';
                update annals.merkle_log set size = 0, frontier = '', signed_size = 0, checkpoint = null where project_id = '?';
                update annals.projection_checkpoint set sequence_id = 0 where project_id = '?' and projection = 'log'""");
        return all;
    }

    @Test
    void theyRefuseWhatTheOwnerOfTheDatabaseChanges() throws Exception {
        for (Map.Entry<String, String> tampering : tampering().entrySet()) {
            middle.close();
            prepare();
            Files.deleteIfExists(folder.resolve("seen"));
            assertVerified(RECORDS);
            log.run(
                    "select from annals.projection_checkpoint where project_id = '" + project.id() + "' for update",
                    "set local session_replication_role = replica",
                    tampering.getValue().replace("?", project.id().toString()));
            // as happens after some seconds
            tiles.forget(project.id());
            assertRefused(tampering.getKey());
            assertThat(passesFsck() && verify().exitCode() == 0)
                    .as(tampering.getKey())
                    .isFalse();
        }
    }

    /** A proxy that changes answers by the end of the URL. */
    private static final class InTheMiddle implements AutoCloseable {

        private final HttpClient client = HttpClient.newHttpClient();
        private final ExecutorService threads = Executors.newFixedThreadPool(16);
        private final HttpServer server;
        private final URI service;
        private volatile String end = "nothing";
        private volatile Change change = body -> body;
        volatile boolean changed;

        InTheMiddle(URI service) throws IOException {
            this.service = service;
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
            server.setExecutor(threads);
            server.createContext("/", this::pass);
            server.start();
        }

        String uri() {
            return "http://127.0.0.1:" + server.getAddress().getPort();
        }

        void change(String addressEnd, Change to) {
            changed = false;
            change = to;
            end = addressEnd;
        }

        private void pass(HttpExchange exchange) throws IOException {
            try (exchange) {
                HttpResponse<byte[]> answer = client.send(
                        HttpRequest.newBuilder(
                                        service.resolve(exchange.getRequestURI().toString()))
                                .header(
                                        "Authorization",
                                        exchange.getRequestHeaders().getFirst("Authorization"))
                                .build(),
                        HttpResponse.BodyHandlers.ofByteArray());
                byte[] body = answer.body();
                if (exchange.getRequestURI().getPath().endsWith(end)) {
                    body = change.of(answer.body());
                    changed |= !Arrays.equals(body, answer.body());
                }
                exchange.sendResponseHeaders(answer.statusCode(), body.length == 0 ? -1 : body.length);
                exchange.getResponseBody().write(body);
            } catch (Exception e) {
                throw new IOException(e);
            }
        }

        @Override
        public void close() {
            server.stop(0);
            threads.shutdownNow();
        }
    }
}
