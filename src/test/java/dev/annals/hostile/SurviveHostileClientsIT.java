package dev.annals.hostile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.AuditLogFixture;
import dev.annals.Await;
import dev.annals.PackagedService;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.access.tokens.TestTokens;
import dev.annals.edges.delivery.HostilePostgres;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The packaged service with a heap of 256 MiB and the limits that it always has, under attack by strangers, by a tenant
 * with a token of its own and by writers of plain SQL. All the time an honest client appends records and polls for them.
 */
@Order(2)
@Timeout(400)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class SurviveHostileClientsIT {

    private static final int HEAP_MEBIBYTES = 256;
    private static final String LOGS = AuditLogFixture.LOGS;
    private static final String BATCH = AuditLogFixture.BATCH;
    private static final String IMPORT = AuditLogFixture.IMPORT;
    private static final String JSON_BODY = "Content-Type: application/json\r\n";
    private static final String NDJSON_BODY = "Content-Type: application/x-ndjson\r\n";
    private static final int LARGE_RECORDS = 1_000;
    private static final int LARGE_MESSAGE_BYTES = 65_535;
    /** On a machine that does nothing else, it is a fraction of a second. */
    private static final Duration OTHERS_WAIT = Duration.ofSeconds(10);

    private static final long TRICKLE_NANOS = 50_000_000;
    private static final Pattern HEAP_USED = Pattern.compile("used (\\d+)K");

    @TempDir
    static Path directory;

    private static PackagedService service;
    private static long pid;
    private static HonestClient honest;
    private static String tenant;
    private static UUID tenantProject;

    @BeforeAll
    static void start() throws Exception {
        service = new PackagedService(
                directory.resolve("data"),
                Map.of("ANNALS_STREAMS_ALLOWED_HOSTS", "127.0.0.1", "ANNALS_RETENTION_INTERVAL", "1s"),
                "-XX:TieredStopAtLevel=1",
                "-Xmx" + HEAP_MEBIBYTES + "m");
        pid = service.pid();
        AuditLogFixture.Project hostile = service.newProject("read", "write", "stream");
        tenantProject = hostile.id();
        tenant = hostile.token();
        honest = new HonestClient(service.uri(), service.token());
        honest.goesOn();
    }

    @AfterAll
    static void stop() throws Exception {
        if (honest != null) {
            honest.close();
        }
        if (service != null) {
            service.close();
        }
    }

    @AfterEach
    void theServiceIsTheSameAndServes() throws Exception {
        assertThat(service.isAlive()).as("the service runs").isTrue();
        assertThat(service.pid()).isEqualTo(pid);
        assertThat(service.output()).noneMatch(line -> line.contains("OutOfMemory") || line.contains("OutOfDirect"));
        honest.goesOn();
    }

    @Test
    void bombsOfBrotli() throws Exception {
        byte[] bomb = Bombs.brotli();
        assertThat(bomb).hasSizeLessThan(4096);
        try (Crowd crowd = new Crowd(service.uri())) {
            for (String authorization : List.of("", authorization(tenant))) {
                for (String path : List.of(LOGS, "/v1/projects", "/nowhere")) {
                    crowd.attack(4, connection -> {
                        connection.send(
                                post(path, authorization + JSON_BODY + "Content-Encoding: br\r\n", bomb.length));
                        connection.offer(bomb);
                        return connection.status();
                    });
                }
            }
            crowd.attack(4, connection -> {
                connection.send(Http2.post(LOGS, "br", bomb));
                return 0;
            });
            honest.goesOn();
            assertThat(crowd.statuses()).isSubsetOf(0, 401, 403, 404, 405, 413, 415, 429, 503);
        }
    }

    @Test
    void bombsOfGzip() throws Exception {
        byte[] bomb = Bombs.gzip(64);
        try (Crowd crowd = new Crowd(service.uri())) {
            for (String authorization : List.of("", authorization("annals_" + "x".repeat(43)), authorization(tenant))) {
                for (String type : List.of(JSON_BODY, NDJSON_BODY)) {
                    String path = type.equals(NDJSON_BODY) ? IMPORT : BATCH;
                    crowd.attack(15, connection -> {
                        connection.send(post(path, authorization + type + "Content-Encoding: gzip\r\n", bomb.length));
                        connection.offer(bomb);
                        return connection.status();
                    });
                }
            }
            honest.goesOn();
            assertThat(crowd.statuses()).isSubsetOf(0, 400, 401, 413, 422, 429, 503);
        }
    }

    @Test
    void bombsOfGzipOverHttp2() throws Exception {
        // One stream may send this much before the service grants more.
        byte[] bomb = Bombs.gzip(3);
        try (Crowd crowd = new Crowd(service.uri())) {
            for (int i = 0; i < 30; i++) {
                // A server without HTTP/2 has closed the connection by the end of it.
                var unused = crowd.open().offer(Http2.post(LOGS, "gzip", bomb));
            }
            honest.goesOn();
        }
    }

    @Test
    void bodiesThatAreNeverFinished() throws Exception {
        int length = 16 << 20;
        byte[] almost = "{".concat(" ".repeat(length - 2)).getBytes(StandardCharsets.US_ASCII);
        byte[] chunk = "10000\r\n".concat("x".repeat(0x10000)).concat("\r\n").getBytes(StandardCharsets.US_ASCII);
        try (Crowd crowd = new Crowd(service.uri())) {
            crowd.attack(32, connection -> {
                connection.send(post(BATCH, authorization(tenant) + JSON_BODY, length));
                connection.offer(almost);
                return connection.status();
            });
            crowd.attack(8, connection -> {
                connection.send(
                        head("POST", BATCH, authorization(tenant) + JSON_BODY + "Transfer-Encoding: chunked\r\n"));
                for (int sent = 0; sent < 2 * length && connection.offer(chunk); sent += 0x10000) {
                    // until it is refused
                }
                return connection.status();
            });
            honest.goesOn();
            honest.goesOn();
        }
    }

    @Test
    @TakesLong
    void linesThatNeverEnd() throws Exception {
        byte[] chunk = "10000\r\n".concat("x".repeat(0x10000)).concat("\r\n").getBytes(StandardCharsets.US_ASCII);
        try (Crowd crowd = new Crowd(service.uri())) {
            crowd.attack(32, connection -> {
                connection.send(
                        head("POST", IMPORT, authorization(tenant) + NDJSON_BODY + "Transfer-Encoding: chunked\r\n"));
                for (int sent = 0; sent < 32 << 20 && connection.offer(chunk); sent += 0x10000) {
                    // until it is refused
                }
                return connection.status();
            });
            honest.goesOn();
            honest.goesOn();
        }
    }

    @Test
    @TakesLong
    void largePagesReadAtTheSameTimeAndNotAtAll() throws Exception {
        database()
                .runEach("insert into annals.audit_record (project_id, action, message) select '" + tenantProject
                        + "', 'large', repeat('x', " + LARGE_MESSAGE_BYTES + ") from generate_series(1, "
                        + LARGE_RECORDS
                        + ")");
        String page = LOGS + "?limit=1000&cursor=0";
        try (Crowd crowd = new Crowd(service.uri())) {
            for (int i = 0; i < 40; i++) {
                crowd.open().send(head("GET", page, authorization(tenant)));
                crowd.open().send(head("GET", page + "&order=desc", authorization(tenant)));
                crowd.open().send(head("GET", LOGS + "/stream", authorization(tenant)));
                crowd.open().send(head("GET", LOGS + "/export", authorization(tenant)));
            }
            crowd.attack(32, connection -> {
                connection.send(head("GET", page, authorization(tenant) + "Connection: close\r\n"));
                int status = connection.status();
                return connection.isClosedByTheService() ? status : -1;
            });
            honest.goesOn();
            honest.goesOn();
            assertThat(crowd.statuses()).isSubsetOf(200, 503);
        }
    }

    /** The id of the record at the horizon, and that of an append, which only the owner of the database knows. */
    @Test
    void idsThatNoFurtherTryMakesFree() throws Exception {
        AuditLogFixture.Project project = service.newProject("read", "write");
        String of = " where project_id = '" + project.id() + "' and last_sequence_id = ";
        SqlFixture database = database();
        database.runEach(
                "insert into annals.audit_record (project_id, action, recorded_at, recorded_by_role) select '"
                        + project.id() + "', 'old', now() - interval '9 days', 'x' from generate_series(1, 3)",
                "select annals.set_retention('" + project.id() + "', 5)");
        String horizon =
                database.text("select record_ids[3] from annals.append where project_id = '" + project.id() + "'");
        append(project.token(), "{\"action\": \"a\"}, {\"action\": \"b\"}");
        String append = database.text("select append_id from annals.feed_segment" + of + 5);
        Await.until("three have expired", () -> database.number("select annals.horizon('" + project.id() + "')") == 3);
        try (Crowd crowd = new Crowd(service.uri())) {
            for (String id : List.of(horizon, append)) {
                byte[] record = ("{\"id\": \"" + id + "\", \"action\": \"again\"}").getBytes(StandardCharsets.US_ASCII);
                for (int i = 0; i < 50; i++) {
                    crowd.attack(16, connection -> {
                        connection.send(post(LOGS, authorization(project.token()) + JSON_BODY, record.length));
                        connection.offer(record);
                        return connection.status();
                    });
                }
            }
            for (int i = 0; i < 10; i++) {
                append(project.token(), "{\"action\": \"c\"}");
            }
            honest.goesOn();
            assertThat(crowd.statuses()).isSubsetOf(200, 201, 409).contains(200, 409);
        }
    }

    /** Within a fraction of the time in which a batch is tried again. */
    private static void append(String token, String records) throws IOException, InterruptedException {
        HttpResponse<String> answer = HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(service.uri().resolve(BATCH))
                                .timeout(Duration.ofSeconds(10))
                                .header("Authorization", "Bearer " + token)
                                .header("Content-Type", "application/json")
                                .POST(HttpRequest.BodyPublishers.ofString(AuditLogFixture.batch(records)))
                                .build(),
                        HttpResponse.BodyHandlers.ofString());
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(201);
    }

    @Test
    void numbersThatAreLongerThanTheyLook() throws Exception {
        String record = "{\"action\": \"numbers\", \"metadata\": {\"n\": ["
                + String.join(",", Collections.nCopies(4_000, "1e300")) + "]}}";
        byte[] body = AuditLogFixture.batch(String.join(",", Collections.nCopies(200, record)))
                .getBytes(StandardCharsets.US_ASCII);
        try (Crowd crowd = new Crowd(service.uri())) {
            crowd.attack(4, connection -> {
                connection.send(post(BATCH, authorization(tenant) + JSON_BODY, body.length));
                connection.offer(body);
                return connection.status();
            });
            honest.goesOn();
            assertThat(crowd.statuses()).isSubsetOf(422, 503);
        }
        String insert = "insert into annals.audit_record (project_id, action, metadata) values ('" + tenantProject
                + "', 'numbers', ('{\"n\": [' || repeat('1e131071,', 999) || '0]}')::jsonb)";
        assertThatThrownBy(() -> database().runEach(insert)).isInstanceOf(SQLException.class);
        assertThatThrownBy(() -> database().runEach("set role annals_writer", insert))
                .isInstanceOf(SQLException.class);
        try (Crowd crowd = new Crowd(service.uri())) {
            crowd.attack(4, connection -> {
                connection.send(head("GET", LOGS + "?limit=1000&order=desc", authorization(tenant)));
                return connection.status();
            });
            honest.goesOn();
            assertThat(crowd.statuses()).isSubsetOf(200, 503);
        }
    }

    @Test
    @TakesLong
    void requestsThatAreHalfSentOrTrickle() throws Exception {
        try (Crowd crowd = new Crowd(service.uri())) {
            List<Crowd.Connection> half = new ArrayList<>();
            for (int i = 0; i < 500; i++) {
                Crowd.Connection connection = crowd.open();
                connection.send("GET " + LOGS + " HTTP/1.1\r\nHost: annals\r\nX-");
                half.add(connection);
            }
            crowd.attack(32, connection -> {
                connection.send("GET " + LOGS + " HTTP/1.1\r\n");
                while (connection.offer("x".getBytes(StandardCharsets.US_ASCII))) {
                    LockSupport.parkNanos(TRICKLE_NANOS);
                }
                return connection.status();
            });
            honest.goesOn();
            for (Crowd.Connection connection : half) {
                assertThat(connection.isClosedByTheService())
                        .as("a connection whose request never comes is closed")
                        .isTrue();
            }
            assertThat(crowd.statuses()).isSubsetOf(0, 400, 408, 431);
        }
    }

    @Test
    void sinksThatAreNoDatabases() throws Exception {
        try (Crowd crowd = new Crowd(service.uri())) {
            for (HostilePostgres.Attack attack : HostilePostgres.Attack.values()) {
                try (HostilePostgres server = new HostilePostgres(attack)) {
                    String stream = "/v1/streams/hostile";
                    byte[] sink = ("{\"sink\": {\"type\": \"postgresql\", \"url\": \"" + server.url()
                                    + "\", \"secret\": \"s\"}}")
                            .getBytes(StandardCharsets.US_ASCII);
                    Crowd.Connection set = crowd.open();
                    set.send(head(
                            "PUT",
                            stream,
                            authorization(tenant) + JSON_BODY + "Content-Length: " + sink.length + "\r\n"));
                    set.offer(sink);
                    assertThat(set.status()).isIn(200, 201);
                    for (int i = 0; i < 4; i++) {
                        crowd.open().send(post(stream + "/test", authorization(tenant), 0));
                    }
                    honest.goesOn();
                }
            }
        }
    }

    @Test
    void answersThatAreNotRead() throws Exception {
        database()
                .runEach("insert into annals.audit_record (project_id, action, actor_id) select '" + tenantProject
                        + "', 'unread', lpad(n::text, 250, 'x') from generate_series(1, 7_000) as n");
        Await.until(
                "they are counted",
                () -> database()
                                .number(
                                        "select coalesce(max(sequence_id), 0) from annals.projection_checkpoint where project_id = '"
                                                + tenantProject + "' and projection = 'statistics'")
                        >= 7_000);
        String counts = head("GET", LOGS + "/statistics?by=actor", authorization(tenant));
        String contract = head("GET", "/q/openapi", "");
        attackUnread(2_000, contract);
        attackUnread(8, contract.repeat(4_000));
        attackUnread(500, counts);
        attackUnread(8, counts.repeat(500));
    }

    private static void attackUnread(int connections, String requests) throws Exception {
        try (UnreadAnswers attack = new UnreadAnswers(service.uri(), directory, connections, requests)) {
            attack.awaitSent();
            honest.goesOn();
        }
        assertThat(service.isAlive()).as("the service runs").isTrue();
    }

    @Test
    void exclusionsOverManyRecords() throws Exception {
        AuditLogFixture.Project searched = service.newProject("read", "write");
        AuditLogFixture.Project other = service.newProject("read", "write");
        database()
                .runEach("insert into annals.audit_record (project_id, action, message) select '" + searched.id()
                        + "', 'searched', repeat(md5(n::text) || ' ', 60) from generate_series(1, 20_000) as n");
        try (Crowd crowd = new Crowd(service.uri())) {
            crowd.attack(64, connection -> {
                int status = 0;
                for (int i = 0; i < 4; i++) {
                    Crowd.Connection next = crowd.open();
                    next.send(head("GET", LOGS + "?order=desc&q=-zzz" + i, authorization(searched.token())));
                    status = next.status();
                }
                return status;
            });
            for (int i = 0; i < 5; i++) {
                for (String path : List.of(LOGS + "?order=desc", LOGS + "?cursor=0", "/q/health/ready")) {
                    Crowd.Connection asks = crowd.open();
                    long began = System.nanoTime();
                    asks.send(head("GET", path, authorization(other.token())));
                    assertThat(asks.status()).as(path).isEqualTo(200);
                    assertThat(System.nanoTime() - began).as(path).isLessThan(OTHERS_WAIT.toNanos());
                }
            }
            honest.goesOn();
            assertThat(crowd.statuses()).isSubsetOf(200, 503);
        }
    }

    @Test
    void tokensThatAreMadeUp() throws Exception {
        try (Crowd crowd = new Crowd(service.uri())) {
            List<Crowd.Connection> guesses = new ArrayList<>();
            for (int i = 0; i < 2_000; i++) {
                StringBuilder requests = new StringBuilder();
                for (int j = 0; j < 4; j++) {
                    String token = TestTokens.unknown();
                    requests.append(head("GET", LOGS, authorization(token)));
                }
                Crowd.Connection connection = crowd.open();
                if (connection.offer(requests.toString().getBytes(StandardCharsets.US_ASCII))) {
                    guesses.add(connection);
                }
            }
            honest.goesOn();
            for (Crowd.Connection guess : guesses) {
                assertThat(guess.status()).isIn(0, 401, 429, 503);
            }
        }
    }

    @Test
    void pathsMethodsAndHeadersThatAreMadeUp() throws Exception {
        String longHeader = "X-Long: " + "x".repeat(1 << 20) + "\r\n";
        try (Crowd crowd = new Crowd(service.uri())) {
            crowd.attack(32, connection -> {
                for (int i = 0; i < 32; i++) {
                    connection.send(head("GET", "/" + UUID.randomUUID(), "") + head("MADEUP" + i, LOGS, ""));
                }
                return connection.status();
            });
            crowd.attack(32, connection -> {
                connection.offer(head("GET", LOGS, longHeader).getBytes(StandardCharsets.US_ASCII));
                return connection.status();
            });
            honest.goesOn();
            assertThat(crowd.statuses()).isSubsetOf(0, 400, 401, 404, 405, 431);
        }
    }

    @Test
    @Order(Integer.MAX_VALUE)
    void everyFeedIsStillServedFromTheFirstRecordToTheLast() throws Exception {
        List<String> written = honest.stop();
        assertThat(readAll(honest, "")).isEqualTo(written);
        try (HonestClient tenants = new HonestClient(service.uri(), tenant)) {
            tenants.stop();
            readAll(tenants, "&limit=1000");
        } finally {
            honest = new HonestClient(
                    service.uri(), service.newProject("read", "write").token());
        }
        assertThat(heapUsedMebibytes()).isLessThan(HEAP_MEBIBYTES / 2);
    }

    /** The ids of a whole feed, its sequence ids checked. */
    private static List<String> readAll(HonestClient client, String parameters) throws Exception {
        List<String> ids = new ArrayList<>();
        String next = LOGS + "?cursor=0" + parameters;
        while (next != null) {
            JsonNode page = client.page(next);
            for (JsonNode record : page.get("results")) {
                ids.add(record.get("id").textValue());
                assertThat(record.get("sequence_id").asInt()).isEqualTo(ids.size());
            }
            next = page.get("next").textValue();
        }
        return ids;
    }

    private static long heapUsedMebibytes() throws IOException, InterruptedException {
        jcmd("GC.run");
        Matcher used = HEAP_USED.matcher(jcmd("GC.heap_info"));
        assertThat(used.find()).isTrue();
        return Long.parseLong(used.group(1)) / 1024;
    }

    private static String jcmd(String command) throws IOException, InterruptedException {
        Process jcmd = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(), Long.toString(pid), command)
                .redirectErrorStream(true)
                .start();
        String printed = new String(jcmd.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(jcmd.waitFor()).as(printed).isZero();
        return printed;
    }

    private static SqlFixture database() throws IOException {
        return SqlFixture.on(service.database());
    }

    private static String authorization(String token) {
        return "Authorization: Bearer " + token + "\r\n";
    }

    private static String post(String path, String headers, int length) {
        return head("POST", path, headers + "Content-Length: " + length + "\r\n");
    }

    private static String head(String method, String path, String headers) {
        return method + " " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + headers + "\r\n";
    }
}
