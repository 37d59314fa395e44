package dev.annals.derived.move;

import static dev.annals.derived.move.MovedDatabases.HOME;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.SqlFixture;
import dev.annals.core.feed.SseStream;
import dev.annals.tools.embedded.TestDatabase;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
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
    private static final ObjectMapper JSON = new ObjectMapper();

    private final MovedDatabases databases = new MovedDatabases(
            Map.of(HOME, SqlFixture.ofTheSchemaAlone(), "east", SqlFixture.on(TestDatabase.createDatabase())));
    private final HttpClient http = HttpClient.newHttpClient();
    private final Queue<UUID> stored = new ConcurrentLinkedQueue<>();
    private final Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
    private ServiceProcess service;
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
        settings.put("ANNALS_ADMIN_TOKEN", ADMIN);
        settings.put("ANNALS_LOG_KEY", AuditLogFixture.LOG_KEY);
        settings.put("ANNALS_STREAMS_KEY", AuditLogFixture.STREAMS_KEY);
        settings.put("ANNALS_STREAMS_ALLOWED_HOSTS", "127.0.0.1");
        service = ServiceProcess.start(settings).awaitListening();
        Await.until("east is used", () -> health().contains("\"east\": \"reads and writes\""));
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
    }

    private String health() throws Exception {
        return http.send(
                        HttpRequest.newBuilder(service.managementUri("/q/health"))
                                .build(),
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

    private interface Work {
        void run() throws Exception;
    }

    private Thread start(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (Throwable e) {
                failures.add(e);
            }
        });
        thread.start();
        return thread;
    }

    /** With pauses, so that the feed does not grow faster than moves end. */
    private Thread repeat(int pauseMillis, Work work) {
        return start(() -> {
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

    private void move() throws SQLException {
        String target = at.equals(HOME) ? "east" : HOME;
        if (moved++ > 0) {
            databases.removeCopy(project, target);
        }
        databases.finish(databases.start(project, target));
        at = target;
    }

    @Test
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
                start(() -> readers.set(0, follow(""))),
                start(() -> readers.set(1, follow("&wait=1"))),
                start(() -> readers.set(2, listen())));

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
}
