package dev.annals.derived.move;

import static dev.annals.derived.move.MovedDatabases.HOME;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpServer;
import dev.annals.AuditLogFixture;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.core.feed.SseStream;
import dev.annals.tools.embedded.TestDatabase;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Clients of the packaged service notice no move of their project: no request is refused, and no reader skips or repeats a record. */
@Timeout(900)
class ClientsWhileAProjectMovesIT {

    private static final int MOVES = Boolean.getBoolean("tests.long") ? 100 : 6;
    private static final String ADMIN = "a-token-for-administration";
    private static final String LOGS = AuditLogFixture.LOGS;
    private static final Pattern ID = Pattern.compile("\"id\":\\s*\"([0-9a-f-]{36})\"");
    private static final ObjectMapper JSON = new ObjectMapper();

    private final MovedDatabases databases = new MovedDatabases(
            Map.of(HOME, SqlFixture.ofTheSchemaAlone(), "east", SqlFixture.on(TestDatabase.createDatabase())));
    private final HttpClient http = HttpClient.newHttpClient();
    private final Queue<UUID> stored = new ConcurrentLinkedQueue<>();
    private final Workers workers = new Workers();
    private final Queue<Throwable> failures = workers.failures;
    private ServiceProcess service;
    private ServiceProcess other;
    private UUID project;
    private String token;
    private String at = HOME;
    private int moved;
    private volatile boolean written;
    private volatile boolean complete;

    @BeforeEach
    void start() throws Exception {
        Map<String, String> settings = new HashMap<>();
        settings.put("ANNALS_DATABASE_URL", databases.home().database().withPassword());
        settings.put("ANNALS_DATABASES", "main,east");
        settings.put(
                "ANNALS_DATABASES_EAST_URL", databases.of("east").database().withPassword());
        settings.put("ANNALS_DATABASES_EAST_TRUSTED", "true");
        settings.put("ANNALS_ADMIN_TOKEN", ADMIN);
        settings.put("ANNALS_LOG_KEY", AuditLogFixture.LOG_KEY);
        settings.put("ANNALS_STREAMS_KEY", AuditLogFixture.STREAMS_KEY);
        settings.put("ANNALS_STREAMS_ALLOWED_HOSTS", "127.0.0.1");
        service = ServiceProcess.start(settings).awaitListening();
        other = ServiceProcess.start(settings).awaitListening();
        for (ServiceProcess each : List.of(service, other)) {
            Await.until("east is used", () -> health(each).contains("\"east\": \"reads and writes\""));
        }
        project = UUID.fromString(JSON.readTree(
                        done(201, ADMIN, "POST", "/v1/projects", "{\"name\": \"moving\", \"database\": \"main\"}"))
                .get("id")
                .asText());
        String scopes = "{\"scopes\": [\"read\", \"write\", \"sequence\", \"redact\", \"stream\"]}";
        token = JSON.readTree(done(201, ADMIN, "POST", "/v1/projects/" + project + "/tokens", scopes))
                .get("token")
                .asText();
        done(201, "PUT", "/v1/sequences/numbers", "{\"kind\": \"SYNCHRONOUS\"}");
    }

    @AfterEach
    void stop() throws Exception {
        service.close();
        other.close();
    }

    private String health(ServiceProcess of) throws Exception {
        return http.send(
                        HttpRequest.newBuilder(of.managementUri("/q/health")).build(),
                        HttpResponse.BodyHandlers.ofString())
                .body();
    }

    private HttpRequest.Builder request(String as, String pathAndQuery) {
        return HttpRequest.newBuilder(
                        pathAndQuery.startsWith("http") ? URI.create(pathAndQuery) : service.uri(pathAndQuery))
                .header("Authorization", "Bearer " + as);
    }

    private String done(int status, String as, String method, String pathAndQuery, String body) throws Exception {
        String type = pathAndQuery.endsWith("/import") ? "application/x-ndjson" : "application/json";
        HttpResponse<String> answer = http.send(
                request(as, pathAndQuery)
                        .header("Content-Type", type)
                        .method(method, HttpRequest.BodyPublishers.ofString(body))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        assertThat(answer.statusCode())
                .as("%s %s: %s", method, pathAndQuery, answer.body())
                .isEqualTo(status);
        return answer.body();
    }

    private String done(int status, String method, String pathAndQuery, String body) throws Exception {
        return done(status, token, method, pathAndQuery, body);
    }

    private JsonNode get(String pathAndQuery) throws Exception {
        return JSON.readTree(done(200, "GET", pathAndQuery, ""));
    }

    /** With pauses, so that the feed does not grow faster than moves end. */
    private Thread repeat(int pauseMillis, Workers.Work work) {
        return workers.start(() -> {
            while (!written && failures.isEmpty()) {
                work.run();
                Thread.sleep(pauseMillis);
            }
        });
    }

    private static String record(UUID id, String more) {
        return "{\"id\": \"" + id + "\", \"action\": \"a\"" + more + "}";
    }

    private void append(String more) throws Exception {
        UUID id = UUID.randomUUID();
        done(201, "POST", LOGS, record(id, more));
        stored.add(id);
    }

    private List<UUID> draw(int records) {
        List<UUID> ids = new ArrayList<>();
        for (int i = 0; i < records; i++) {
            ids.add(UUID.randomUUID());
        }
        return ids;
    }

    private void appendBatch() throws Exception {
        List<UUID> ids = draw(20);
        List<String> records = ids.stream().map(id -> record(id, "")).toList();
        done(201, "POST", LOGS + "/batch", "{\"records\": [" + String.join(",", records) + "]}");
        stored.addAll(ids);
    }

    /** Its lines are stored in their order. */
    private void upload(Queue<List<UUID>> uploads) throws Exception {
        List<UUID> ids = draw(700);
        List<String> lines = ids.stream().map(id -> record(id, "")).toList();
        JsonNode summary = JSON.readTree(done(200, "POST", LOGS + "/import", String.join("\n", lines)));
        assertThat(summary.get("stored").asInt()).as(summary.toString()).isEqualTo(ids.size());
        stored.addAll(ids);
        uploads.add(ids);
    }

    private static UUID id(JsonNode record) {
        return UUID.fromString(record.get("id").asText());
    }

    /** Follows the feed by pages until it ends and nothing is written. */
    private List<UUID> follow(String wait) throws Exception {
        List<UUID> read = new ArrayList<>();
        String next = LOGS + "?limit=200";
        boolean ended = false;
        while (!ended && failures.isEmpty()) {
            boolean last = complete;
            JsonNode page = get(next);
            page.get("results").forEach(record -> read.add(id(record)));
            boolean more = page.hasNonNull("next");
            next = page.get(more ? "next" : "poll_more").asText();
            next += next.contains("&wait=") ? "" : wait;
            ended = last && !more && page.get("results").isEmpty();
        }
        return read;
    }

    private List<UUID> listen() throws Exception {
        List<UUID> heard = new ArrayList<>();
        try (SseStream events = SseStream.open(request(token, LOGS + "/stream").build())) {
            while (heard.isEmpty() || !heard.get(heard.size() - 1).equals(new UUID(0, 1))) {
                SseStream.Block block = events.next();
                if (block.data() != null) {
                    heard.add(id(JSON.readTree(block.data())));
                }
                assertThat(block.data() != null || block.comment() || block.retry() != null)
                        .as("the stream goes on")
                        .isTrue();
            }
        }
        return heard;
    }

    private void move() throws Exception {
        String target = at.equals(HOME) ? "east" : HOME;
        if (moved++ > 0) {
            databases.removeCopy(project, target);
        }
        // The other instance carries the move; the clients' one has an old map.
        String path = other.uri("/v1/projects/" + project + "/move").toString();
        done(202, ADMIN, "POST", path, "{\"database\": \"" + target + "\"}");
        Await.until(
                "the project has moved",
                () -> !failures.isEmpty()
                        || JSON.readTree(done(200, ADMIN, "GET", path, ""))
                                .get("state")
                                .asText()
                                .equals("moved"));
        at = target;
    }

    /** A move ends only if the copy is faster than all these writers, which takes a machine with nothing else to do. */
    @Test
    @TakesLong
    void everyRequestSucceedsAndEveryReaderGetsAllInOrder() throws Exception {
        Queue<List<UUID>> uploads = new ConcurrentLinkedQueue<>();
        List<Thread> writers = List.of(
                repeat(10, () -> append("")),
                repeat(10, () -> append("")),
                repeat(10, () -> append(", \"number\": {\"sequence\": \"numbers\"}")),
                repeat(50, this::appendBatch),
                repeat(300, () -> upload(uploads)),
                repeat(20, () -> get(LOGS + "?order=desc&limit=50")),
                repeat(20, () -> get(LOGS + "?q=action:a&order=desc&limit=50")));
        List<List<UUID>> readers = new ArrayList<>(List.of(List.of(), List.of(), List.of()));
        List<Thread> reading = List.of(
                workers.start(() -> readers.set(0, follow(""))),
                workers.start(() -> readers.set(1, follow("&wait=1"))),
                workers.start(() -> readers.set(2, listen())));

        for (int moves = 0; moves < MOVES && failures.isEmpty(); moves++) {
            int before = stored.size();
            move();
            Await.until("clients write where the project is", () -> stored.size() > before + 20 || !failures.isEmpty());
        }
        written = true;
        for (Thread thread : writers) {
            thread.join();
        }
        assertThat(failures).as(() -> String.join("\n", service.output)).isEmpty();
        done(201, "POST", LOGS, record(new UUID(0, 1), ""));
        stored.add(new UUID(0, 1));
        complete = true;
        for (Thread thread : reading) {
            thread.join();
        }

        assertThat(failures).isEmpty();
        List<UUID> feed = databases.of(at).feed(project);
        assertThat(feed).containsExactlyInAnyOrderElementsOf(stored);
        assertThat(databases.of(at).checkFeed(project)).isEqualTo(stored.size());
        for (List<UUID> read : readers) {
            assertThat(read).isEqualTo(feed);
        }
        Map<UUID, Integer> placesOf = new HashMap<>();
        feed.forEach(id -> placesOf.put(id, placesOf.size()));
        for (List<UUID> upload : uploads) {
            assertThat(upload.stream().map(placesOf::get)).isSorted();
        }
        assertThat(databases
                        .of(at)
                        .text("select count(*) = max(number_value) from annals.feed where project_id = '" + project
                                + "' and number_value is not null"))
                .as("numbers without a gap")
                .isEqualTo("t");
        assertThat(service.output).noneMatch(line -> line.contains(" ERROR ") || line.contains(" WARN "));
        System.out.printf("%d moves, %d records, %d uploads%n", MOVES, stored.size(), uploads.size());
    }

    private void export() throws Exception {
        int before = stored.size();
        List<Long> places = new ArrayList<>();
        for (String line : done(200, "GET", LOGS + "/export", "").split("\n")) {
            places.add(JSON.readTree(line).get("sequence_id").asLong());
        }
        assertThat(places).hasSizeGreaterThanOrEqualTo(before);
        assertThat(places.get(0)).isEqualTo(1);
        assertThat(places.get(places.size() - 1)).isEqualTo(places.size());
        assertThat(places).isSorted();
    }

    /** Each answer shows what was stored before the question. */
    private void ask() throws Exception {
        append("");
        int before = stored.size();
        assertThat(get(LOGS + "/facets").get("through").asLong()).isGreaterThanOrEqualTo(before);
        get(LOGS + "/statistics?by=day");
        UUID id = UUID.randomUUID();
        String action = "a" + id.toString().replace("-", "");
        done(201, "POST", LOGS, "{\"id\": \"" + id + "\", \"action\": \"" + action + "\", \"message\": \"secret\"}");
        stored.add(id);
        assertThat(get(LOGS + "?q=action:" + action).get("results")).hasSize(1);
        done(200, "POST", LOGS + "/" + id + "/redactions", "{\"fields\": [\"message\"], \"reason\": \"r\"}");
        assertThat(get(LOGS + "/" + id).toString()).doesNotContain("secret");
    }

    private void draw(String sequence, Set<Long> drawn) throws Exception {
        JsonNode values = JSON.readTree(done(200, "POST", "/v1/sequences/" + sequence + "/values", ""));
        assertThat(drawn.add(values.get("values").get(0).asLong()))
                .as("%s is drawn once: %s", sequence, values)
                .isTrue();
    }

    private void administer(int[] round) throws Exception {
        String path = "/v1/projects/" + project;
        String hold = JSON.readTree(
                        done(201, ADMIN, "POST", path + "/holds", "{\"actor_id\": \"nobody\", \"reason\": \"r\"}"))
                .get("id")
                .asText();
        done(200, ADMIN, "POST", path + "/holds/" + hold + "/lift", "{\"reason\": \"r\"}");
        done(200, ADMIN, "PATCH", path, "{\"retention_days\": " + (1_000 + ++round[0]) + "}");
        done(
                200,
                "PUT",
                "/v1/alerts/alarms",
                "{\"q\": \"action:alarm\", \"threshold\": " + round[0] + ", \"interval_seconds\": 60}");
        get("/v1/streams/events");
    }

    private void prove(long[] size) throws Exception {
        long signed =
                Long.parseLong(done(200, "GET", LOGS + "/log/1/checkpoint", "").split("\n")[1]);
        assertThat(signed).isGreaterThanOrEqualTo(size[0]);
        if (size[0] > 0) {
            get(LOGS + "/log/consistency?from=" + size[0] + "&to=" + signed);
        }
        size[0] = signed;
        if (signed > 0) {
            done(200, "GET", LOGS + "/" + stored.peek() + "/proof", "");
        }
    }

    @Test
    void whatElseIsAskedOfAProjectGoesOnWhileItMoves() throws Exception {
        List<String> received = new CopyOnWriteArrayList<>();
        HttpServer receiver = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        receiver.createContext("/", exchange -> {
            received.add(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
        });
        receiver.start();
        try {
            done(
                    201,
                    "PUT",
                    "/v1/streams/events",
                    "{\"sink\": {\"type\": \"webhook\", \"url\": \"http://127.0.0.1:"
                            + receiver.getAddress().getPort()
                            + "/\", \"secret\": \"whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\"}}");
            done(
                    201,
                    "PUT",
                    "/v1/alerts/alarms",
                    "{\"q\": \"action:alarm\", \"threshold\": 0, \"interval_seconds\": 60}");
            done(201, "PUT", "/v1/sequences/batch", "{\"kind\": \"BATCH\"}");
            done(201, "PUT", "/v1/sequences/native", "{\"kind\": \"NATIVE\"}");
            append("");
            askWhileMoving();
            List<UUID> feed = databases.of(at).feed(project);
            assertThat(feed).containsAll(stored);
            databases.of(at).checkFeed(project);
            Set<UUID> all = new HashSet<>(feed);
            Await.until(
                    "the stream has delivered all",
                    () -> delivered(received, all).size() == feed.size());
            assertThat(delivered(received, all)).isEqualTo(feed);
        } finally {
            receiver.stop(0);
        }
        assertThat(service.output).noneMatch(line -> line.contains(" ERROR ") || line.contains(" WARN "));
    }

    private void askWhileMoving() throws Exception {
        Set<Long> batch = new HashSet<>();
        Set<Long> natives = new HashSet<>();
        int[] round = {0};
        long[] size = {0};
        List<Thread> clients = List.of(
                repeat(20, this::export),
                repeat(20, this::ask),
                repeat(10, () -> draw("batch", batch)),
                repeat(10, () -> draw("native", natives)),
                repeat(10, () -> administer(round)),
                repeat(50, () -> prove(size)));
        for (int moves = 0; moves < MOVES && failures.isEmpty(); moves++) {
            int before = round[0];
            move();
            Await.until("the project is changed where it is", () -> round[0] > before + 2 || !failures.isEmpty());
        }
        written = true;
        for (Thread thread : clients) {
            thread.join();
        }
        assertThat(failures).as(() -> String.join("\n", service.output)).isEmpty();
        for (SqlFixture database : List.of(databases.home(), databases.of(at))) {
            assertThat(database.text("select retention_days from annals.project where id = '" + project + "'"))
                    .isEqualTo(Integer.toString(1_000 + round[0]));
        }
    }

    /** The first delivery of each record, in their order. */
    private static List<UUID> delivered(List<String> received, Set<UUID> feed) {
        Set<UUID> delivered = new LinkedHashSet<>();
        for (String body : received) {
            Matcher id = ID.matcher(body);
            while (id.find()) {
                UUID found = UUID.fromString(id.group(1));
                if (feed.contains(found)) {
                    delivered.add(found);
                }
            }
        }
        return List.copyOf(delivered);
    }
}
