package dev.annals.edges.delivery;

import static dev.annals.ProblemAssertions.pointers;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.not;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.annals.Await;
import dev.annals.Load;
import dev.annals.Slow;
import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.Response;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Receivers of OTLP get every record of the feed as a log record, in order: a backend, and with {@code -Dtests.long=true} one
 * that is behind a real OpenTelemetry Collector.
 */
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
@Slow
class OtlpSinkTest extends OneStream {

    private static final String STREAM = "/v1/streams/logs";
    private static final String SECRET = "Api-Key: kept to itself";
    private static final String REJECTS_ONE =
            "{\"partialSuccess\": {\"rejectedLogRecords\": \"1\", \"errorMessage\": \"no\\n sevens\"}}";

    @TempDir
    Path folder;

    private final ExecutorService threads = Executors.newCachedThreadPool();
    /** The log records of all requests that were answered with 200, in the order in which they came. */
    private final List<JsonNode> records = Collections.synchronizedList(new ArrayList<>());

    private final List<JsonNode> requests = Collections.synchronizedList(new ArrayList<>());
    private final List<String> keys = Collections.synchronizedList(new ArrayList<>());
    private volatile Function<List<Long>, Answer> behaviour = ids -> new Answer(200, "{}");
    private HttpServer backend;
    private Collector collector;

    private record Answer(int status, String body) {}

    OtlpSinkTest() {
        super(STREAM);
    }

    @BeforeEach
    void makeAProjectAndABackend() throws Exception {
        project = log.newProject("read", "write", "stream");
        backend = HttpServer.create(new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), 0), 0);
        backend.setExecutor(threads);
        backend.createContext("/v1/logs", this::take);
        backend.start();
    }

    @AfterEach
    void nothingIsLeft() throws Exception {
        project.wrongRequest().delete(STREAM);
        if (collector != null) {
            collector.close();
        }
        backend.stop(0);
        threads.shutdownNow();
        log.checkFeed(project.id());
    }

    private void take(HttpExchange exchange) throws IOException {
        try (exchange) {
            JsonNode request = JSON.readTree(exchange.getRequestBody().readAllBytes());
            List<JsonNode> came = new ArrayList<>();
            request.findValues("logRecords").forEach(each -> each.forEach(came::add));
            Answer answer =
                    behaviour.apply(came.stream().map(OtlpSinkTest::sequenceId).toList());
            requests.add(request);
            keys.add(String.valueOf(exchange.getRequestHeaders().getFirst("Api-Key")));
            if (answer.status() == 200 && answer.body().equals("{}")) {
                records.addAll(came);
            }
            byte[] body = answer.body().getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().add("Content-Type", "application/json");
            exchange.sendResponseHeaders(answer.status(), body.length);
            exchange.getResponseBody().write(body);
        }
    }

    private static JsonNode attribute(JsonNode of, String name) {
        for (JsonNode each : of.path("attributes")) {
            if (each.path("key").asText().equals(name)) {
                return each.path("value");
            }
        }
        return JSON.missingNode();
    }

    static long sequenceId(JsonNode record) {
        return attribute(record, "annals.sequence_id").path("intValue").asLong();
    }

    private List<Long> ids() {
        return List.copyOf(records).stream().map(OtlpSinkTest::sequenceId).toList();
    }

    private static List<Long> ids(long from, long to) {
        return LongStream.rangeClosed(from, to).boxed().toList();
    }

    /** The backend itself, which speaks the same protocol; or a Collector before it, which a fresh machine takes minutes to build. */
    private String collect() throws Exception {
        if (!Load.isLong()) {
            return direct();
        }
        collector = new Collector(folder, backend.getAddress().getPort());
        return collector.url();
    }

    private String direct() {
        return "http://127.0.0.1:" + backend.getAddress().getPort() + "/v1/logs";
    }

    private Response set(String url, String secret, Map<String, Object> more) {
        return set("otlp", url, secret, more);
    }

    @Test
    void theReceiverGetsEveryRecordInOrder() throws Exception {
        String url = collect();
        append(250);
        set(url, null, Map.of()).then().statusCode(201);
        awaitLag(0);
        append(7);
        awaitLag(0);
        assertThat(ids()).isEqualTo(ids(1, 257));
        JsonNode resource = requests.get(0).path("resourceLogs").path(0).path("resource");
        assertThat(attribute(resource, "service.name").path("stringValue").asText())
                .isEqualTo("annals");
        assertThat(attribute(resource, "annals.project_id").path("stringValue").asText())
                .isEqualTo(project.id().toString());
    }

    @Test
    void theReceiverUnderstandsAllOfARecord() throws Exception {
        String url = collect();
        String text = "Zoë \"1\"\n</script> \\ }]}]}, \"body\": 🔑";
        ObjectNode record = JSON.createObjectNode()
                .put("action", "naïve \"act\"")
                .put("outcome", "failure")
                .put("ip_address", "192.0.2.7")
                .put("timestamp", "2025-01-02T03:04:05.678901Z")
                .put("message", text);
        record.putObject("actor").put("type", "user").put("id", "u-1").put("name", text);
        record.set("metadata", JSON.readTree("""
                {"a": [1, -2.5, true, null, "x", {"b": {}}], "large": 123456789012345678901234567890}"""));
        project.request()
                .contentType("application/json")
                .body(record.toString())
                .post("/v1/project-logs")
                .then()
                .statusCode(201);
        log.run("insert into annals.audit_record (project_id, action, timestamp) values ('" + project.id()
                + "', 'old', '0001-01-01T00:00:00Z')");
        set(url, null, Map.of()).then().statusCode(201);
        awaitLag(0);
        JsonNode came = records.get(0);
        assertThat(came.path("timeUnixNano").asText()).isEqualTo("1735787045678901000");
        assertThat(came.path("observedTimeUnixNano").asLong()).isGreaterThan(1_735_787_045_678_901_000L);
        assertThat(came.path("eventName").asText()).isEqualTo("naïve \"act\"");
        assertThat(came.path("body").path("stringValue").asText()).isEqualTo(text);
        Map<String, String> texts = new TreeMap<>();
        came.path("attributes")
                .forEach(each -> texts.put(
                        each.path("key").asText(),
                        each.path("value").path("stringValue").asText()));
        assertThat(texts)
                .containsEntry("audit.action", "naïve \"act\"")
                .containsEntry("audit.outcome", "failure")
                .containsEntry("audit.ip_address", "192.0.2.7")
                .containsEntry("audit.actor.type", "user")
                .containsEntry("audit.actor.id", "u-1")
                .containsEntry("audit.actor.name", text)
                .containsKeys("audit.id", "annals.recorded_by")
                .doesNotContainKeys("audit.subject.id", "annals.timestamp");
        String metadata = attribute(came, "annals.metadata").toString();
        assertThat(metadata)
                .contains("{\"intValue\":\"1\"},{\"doubleValue\":-2.5},{\"boolValue\":true},{},{\"stringValue\":\"x\"}")
                .contains("{\"stringValue\":\"123456789012345678901234567890\"}");
        JsonNode old = records.get(1);
        assertThat(old.path("timeUnixNano").asLong()).isZero();
        assertThat(attribute(old, "annals.timestamp").path("stringValue").asText())
                .startsWith("0001-01-01T00:00:00");
        assertThat(old.path("body").path("stringValue").asText()).isEqualTo("old");
    }

    @Test
    void theReceiverMayBeAwayForAWhile() throws Exception {
        String url = collect();
        AtomicInteger calls = new AtomicInteger();
        behaviour = ids -> calls.getAndIncrement() < 3 ? new Answer(503, "") : new Answer(200, "{}");
        append(30);
        set(url, null, Map.of()).then().statusCode(201);
        awaitLag(0);
        assertThat(ids()).isEqualTo(ids(1, 30));
        assertThat(requests).hasSize(4);
    }

    @Test
    void itHasTheHeadersOfTheSecretWhichIsNeverShown() throws Exception {
        append(1);
        set(direct(), SECRET + "\r\nX-Scope: a", Map.of())
                .then()
                .statusCode(201)
                .body(not(containsString("kept to itself")));
        awaitLag(0);
        assertThat(keys).containsOnly("kept to itself");
    }

    @Test
    void aRecordThatIsRejectedAmongOthersIsFoundAndPassedBy() throws Exception {
        append(20);
        behaviour = ids -> ids.contains(7L) ? new Answer(200, REJECTS_ONE) : new Answer(200, "{}");
        set(direct(), null, Map.of("max_refusals", 2)).then().statusCode(201);
        Await.until("it stops", () -> "stopped".equals(get().path("state")));
        get().then()
                .body(
                        "stop_reason",
                        containsString("The record 7 was refused 2 times: It rejected 1 log records. no  sevens"));
        assertThat(ids()).isEqualTo(ids(1, 6));
        set(direct(), null, Map.of("max_refusals", 2, "on_refusal", "dead_letter"))
                .then()
                .statusCode(200);
        awaitLag(0);
        assertThat(ids())
                .isEqualTo(LongStream.rangeClosed(1, 20)
                        .filter(id -> id != 7)
                        .boxed()
                        .toList());
        get().then().body("dead_letters", equalTo(1));
    }

    @Test
    void anAnswerThatIsNoJsonOrOnlyAWarningIsOne() throws Exception {
        append(3);
        List<String> answers = List.of(
                "ok",
                "",
                "[[[[",
                "{\"partialSuccess\": {\"rejectedLogRecords\": 0, \"errorMessage\": \"slow down\"}}",
                "{\"partialSuccess\": \"" + "x".repeat(200_000) + "\"}");
        AtomicInteger calls = new AtomicInteger();
        behaviour = ids -> new Answer(200, answers.get(Math.min(calls.getAndIncrement(), answers.size() - 1)));
        set(direct(), null, Map.of()).then().statusCode(201);
        awaitLag(0);
        for (int i = 1; i < answers.size(); i++) {
            append(1);
            awaitLag(0);
        }
        get().then().body("delivered", equalTo(7)).body("failures", equalTo(0)).body("last_error", equalTo(null));
        assertThat(requests).hasSize(5);
    }

    @Test
    void onlyHeadersThatAreNotTheRequestsOwnAreTaken() {
        for (String secret : List.of(
                "",
                "key",
                "Host: elsewhere",
                "content-length: 5",
                "Transfer-Encoding: chunked",
                "A: b\nContent-Type: text/plain",
                "A: \u0001",
                "A B: c")) {
            Response refused = set(direct(), secret, Map.of());
            assertThat(refused.statusCode()).as(secret).isEqualTo(422);
            assertThat(pointers(refused.then().extract())).as(secret).containsExactly("/sink/secret");
        }
        for (String url :
                List.of("grpc://127.0.0.1:4317", "http://u:p@127.0.0.1/v1/logs", "https://10.0.0.1/v1/logs")) {
            assertThat(pointers(set(url, null, Map.of()).then().extract()))
                    .as(url)
                    .containsExactly("/sink/url");
        }
        assertThat(pointers(set(direct(), null, Map.of("format", "ocsf")).then().extract()))
                .containsExactly("/format");
    }
}
