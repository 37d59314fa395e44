package dev.annals.edges.delivery;

import static dev.annals.ProblemAssertions.assertProblem;
import static dev.annals.ProblemAssertions.pointers;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.not;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.Response;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Splunk, Datadog and Elasticsearch get what their documents ask for, and only what they say of the data refuses a record. */
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
class IntakeTest {

    private static final String STREAM = "/v1/streams/intake";
    private static final String TOKEN = "b0221cd8-c4b4-465a-9a3c-273e3a75aa29";
    private static final ObjectMapper JSON = new ObjectMapper();

    /** An answer of the intake. */
    private record Says(int status, String body) {}

    private final AuditLogFixture log = new AuditLogFixture();
    /** The ids of documents in the index. */
    private final Set<String> index = Collections.synchronizedSet(new HashSet<>());
    /** The records that were acknowledged. */
    private final List<JsonNode> taken = Collections.synchronizedList(new ArrayList<>());

    private volatile Function<List<JsonNode>, Says> behaviour = records -> null;
    /** Elasticsearch's status for a document. */
    private volatile Function<JsonNode, Integer> ofItem = document -> 201;

    private Project project;
    private HttpServer server;

    @BeforeEach
    void start() throws Exception {
        project = log.newProject("read", "write", "stream");
        server = HttpServer.create(new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), 0), 0);
        server.createContext("/services/collector/event", exchange -> answer(exchange, splunk(exchange)));
        server.createContext("/api/v2/logs", exchange -> answer(exchange, datadog(exchange)));
        server.createContext("/logs-annals-default/_bulk", exchange -> answer(exchange, elastic(exchange)));
        server.start();
    }

    @AfterEach
    void stop() throws Exception {
        project.wrongRequest().delete(STREAM);
        server.stop(0);
        log.checkFeed(project.id());
    }

    private static void answer(HttpExchange exchange, Says says) throws IOException {
        try (exchange) {
            byte[] body = says.body().getBytes(StandardCharsets.UTF_8);
            // Elasticsearch and proxies before the others compress for clients that do not refuse it.
            if (!"identity".equals(exchange.getRequestHeaders().getFirst("Accept-Encoding"))) {
                exchange.getResponseHeaders().set("Content-Encoding", "gzip");
                ByteArrayOutputStream compressed = new ByteArrayOutputStream();
                try (GZIPOutputStream gzip = new GZIPOutputStream(compressed)) {
                    gzip.write(body);
                }
                body = compressed.toByteArray();
            }
            exchange.sendResponseHeaders(says.status(), body.length == 0 ? -1 : body.length);
            exchange.getResponseBody().write(body);
        }
    }

    private Says taken(List<JsonNode> records, Says good) {
        Says says = behaviour.apply(records);
        if (says == null) {
            taken.addAll(records);
        }
        return says == null ? good : says;
    }

    private Says splunk(HttpExchange exchange) throws IOException {
        if (!("Splunk " + TOKEN).equals(exchange.getRequestHeaders().getFirst("Authorization"))) {
            return new Says(403, "{\"text\":\"Invalid token\",\"code\":4}");
        }
        try (MappingIterator<JsonNode> events = JSON.readerFor(JsonNode.class)
                .readValues(exchange.getRequestBody().readAllBytes())) {
            List<JsonNode> records = events.readAll();
            return records.isEmpty()
                    ? new Says(400, "{\"text\":\"No data\",\"code\":5}")
                    : taken(records, new Says(200, "{\"text\":\"Success\",\"code\":0}"));
        }
    }

    private Says datadog(HttpExchange exchange) throws IOException {
        if (!TOKEN.equals(exchange.getRequestHeaders().getFirst("DD-API-KEY"))) {
            return new Says(403, "{\"errors\":[\"Forbidden\"]}");
        }
        List<JsonNode> records = new ArrayList<>();
        JSON.readTree(exchange.getRequestBody().readAllBytes()).forEach(records::add);
        return taken(records, new Says(202, "{}"));
    }

    /** Answers as Elasticsearch 7 to 9 do, for a data stream. */
    private Says elastic(HttpExchange exchange) throws IOException {
        byte[] body = exchange.getRequestBody().readAllBytes();
        if (!("ApiKey " + TOKEN).equals(exchange.getRequestHeaders().getFirst("Authorization"))) {
            return new Says(401, "{\"error\":{\"type\":\"security_exception\"},\"status\":401}");
        } else if (!"application/x-ndjson".equals(exchange.getRequestHeaders().getFirst("Content-Type"))) {
            return new Says(406, "{}");
        } else if (body.length == 0) {
            return new Says(400, "{\"error\":{\"type\":\"parse_exception\"},\"status\":400}");
        }
        List<String> lines = new String(body, StandardCharsets.UTF_8).lines().toList();
        List<JsonNode> documents = new ArrayList<>();
        for (int i = 1; i < lines.size(); i += 2) {
            documents.add(JSON.readTree(lines.get(i)));
        }
        Says says = behaviour.apply(documents);
        if (says != null) {
            return says;
        }
        StringBuilder items = new StringBuilder();
        for (int i = 0; i < lines.size(); i += 2) {
            JsonNode document = documents.get(i / 2);
            String id = JSON.readTree(lines.get(i)).path("create").path("_id").asText();
            int status = ofItem.apply(document);
            status = status == 201 && !index.add(id) ? 409 : status;
            if (status == 201) {
                taken.add(document);
            }
            items.append(items.isEmpty() ? "" : ",")
                    .append("{\"create\":{\"status\":")
                    .append(status)
                    .append(",\"error\":{\"type\":\"of_the_test\",\"reason\":\"status ")
                    .append(status)
                    .append("\"}}}");
        }
        return new Says(200, "{\"errors\":true,\"items\":[" + items + "]}");
    }

    private void append(int count) throws Exception {
        log.run(
                "insert into annals.audit_record (project_id, action, outcome, message, actor_id, ip_address, timestamp) select '"
                        + project.id() + "', 'act', 'failure', 'Record \"' || n || '\"\n{}', 'u-' || n, '10.0.0.1',"
                        + " '2026-01-02T03:04:05.678901Z' from generate_series(1, " + count + ") as n");
    }

    private Response set(String format, String secret, String more) {
        String path = format.equals("datadog")
                ? "/api/v2/logs"
                : format.equals("elastic") ? "/logs-annals-default/_bulk" : "/services/collector/event";
        return project.request()
                .contentType("application/json")
                .body("{\"sink\": {\"type\": \"webhook\", \"url\": \"http://127.0.0.1:"
                        + server.getAddress().getPort() + path + "\"" + secret + "}, \"format\": \"" + format + "\""
                        + more
                        + "}")
                .put(STREAM);
    }

    private static String secret(String secret) {
        return ", \"secret\": \"" + secret + "\"";
    }

    private Response get() {
        return project.request().get(STREAM).then().statusCode(200).extract().response();
    }

    private void awaitEnd() throws Exception {
        Await.until("the end is reached", () -> get().<Integer>path("lag") == 0);
    }

    private void awaitFailure(String why) throws Exception {
        Await.until(why, () -> String.valueOf(get().<String>path("last_error")).contains(why));
        get().then().body("state", equalTo("failing")).body("dead_letters", equalTo(0));
    }

    private List<Integer> ids(String record) {
        return taken.stream()
                .map(event -> event.path(record).path("sequence_id").intValue())
                .toList();
    }

    private static List<Integer> all(int count) {
        return IntStream.rangeClosed(1, count).boxed().toList();
    }

    @Test
    void splunkGetsEventsWithTheirTimeAndItsToken() throws Exception {
        append(250);
        set("splunk_hec", secret(TOKEN), "").then().statusCode(201).body("sink.has_secret", equalTo(true));
        awaitEnd();
        assertThat(ids("event")).isEqualTo(all(250));
        JsonNode first = taken.get(0);
        Instant own = Instant.parse(first.path("event").path("timestamp").asText());
        assertThat(first.path("time").decimalValue())
                .isEqualByComparingTo(BigDecimal.valueOf(own.getEpochSecond() * 1_000_000 + own.getNano() / 1_000, 6));
        assertThat(first.path("event").path("message").asText()).isEqualTo("Record \"1\"\n{}");
        assertThat(first.path("fields").path("project_id").asText())
                .isEqualTo(project.id().toString());
        assertThat(first.path("fields").path("sequence_id").isTextual()).isTrue();
        project.request()
                .post(STREAM + "/test")
                .then()
                .statusCode(200)
                .body("outcome", equalTo("delivered"))
                .body("answer", containsString("No data"));
    }

    @Test
    void aWrongTokenAFullQueueOrALoginPageRefusesNoRecord() throws Exception {
        append(5);
        set("splunk_hec", secret("wrong"), ", \"on_refusal\": \"dead_letter\", \"max_refusals\": 1")
                .then()
                .statusCode(201);
        awaitFailure("It says 4: Invalid token");
        get().then().body("last_error", not(containsString("wrong")));
        behaviour = records -> new Says(503, "{\"text\":\"Server is busy\",\"code\":9}");
        set("splunk_hec", secret(TOKEN), ", \"on_refusal\": \"dead_letter\", \"max_refusals\": 1")
                .then()
                .statusCode(200);
        awaitFailure("It says 9: Server is busy");
        behaviour = records -> new Says(400, "{\"text\":\"Incorrect index\",\"code\":7,\"invalid-event-number\":1}");
        awaitFailure("It says 7");
        behaviour = records -> new Says(200, "<html>Please sign in</html>");
        awaitFailure("no answer of Splunk");
        behaviour = records -> new Says(200, "{\"text\":\"" + "\\u0000x".repeat(5_000) + "\",\"code\":0.5}");
        Await.until("it is tried again", () -> get().<Integer>path("failures") > 5);
        assertThat(taken).isEmpty();
        behaviour = records -> null;
        awaitEnd();
        assertThat(ids("event")).isEqualTo(all(5));
    }

    @Test
    void aCodeOfSplunkAboutTheDataRefusesTheRecord() throws Exception {
        append(10);
        behaviour = records -> records.stream()
                        .anyMatch(record ->
                                record.path("event").path("sequence_id").asInt() == 7)
                ? new Says(400, "{\"text\":\"Invalid data format\",\"code\":6,\"invalid-event-number\":6}")
                : null;
        set("splunk_hec", secret(TOKEN), ", \"on_refusal\": \"dead_letter\", \"max_refusals\": 1")
                .then()
                .statusCode(201);
        awaitEnd();
        assertThat(ids("event"))
                .isEqualTo(all(10).stream().filter(id -> id != 7).toList());
        get().then().body("dead_letters", equalTo(1));
    }

    @Test
    void datadogGetsLogsWithItsKeyAndWhatItRefusesIsSentOneByOne() throws Exception {
        append(20);
        behaviour = records -> records.size() > 1
                ? new Says(413, "")
                : records.get(0).path("annals").path("sequence_id").asInt() == 3 ? new Says(400, "{}") : null;
        set("datadog", secret("wrong"), ", \"on_refusal\": \"dead_letter\", \"max_refusals\": 1")
                .then()
                .statusCode(201);
        awaitFailure("403");
        set("datadog", secret(TOKEN), ", \"on_refusal\": \"dead_letter\", \"max_refusals\": 1")
                .then()
                .statusCode(200);
        awaitEnd();
        assertThat(ids("annals"))
                .isEqualTo(all(20).stream().filter(id -> id != 3).toList());
        JsonNode first = taken.get(0);
        assertThat(first.path("status").asText()).isEqualTo("warn");
        assertThat(first.path("message").asText()).isEqualTo("Record \"1\"\n{}");
        assertThat(first.path("annals").path("timestamp").asText()).isEqualTo("2026-01-02T03:04:05.678901Z");
        assertThat(first.path("usr").path("id").asText()).isEqualTo("u-1");
        assertThat(first.path("network").path("client").path("ip").asText()).isEqualTo("10.0.0.1");
    }

    /** Receivers acknowledge records of other times, and drop them. */
    @ParameterizedTest
    @CsvSource({
        "datadog,    16 hours,  true",
        "datadog,    19 hours,  false",
        "datadog,    -30 minutes, true",
        "datadog,    -3 hours,  false",
        "splunk_hec, 800 days,  true",
        "splunk_hec, 1000 days, false",
        "splunk_hec, 60 years,  false",
        "splunk_hec, -40 days,  false",
        "elastic,    60 years,  true"
    })
    void aTimeThatAReceiverWouldDropIsThePresentOneAndTheRecordsOwnIsBesideIt(String format, String age, boolean isOwn)
            throws Exception {
        log.run("insert into annals.audit_record (project_id, action, timestamp) values ('" + project.id()
                + "', 'act', date_trunc('microseconds', now()) - interval '" + age + "')");
        Instant own = Instant.parse(project.request().get(AuditLogFixture.LOGS).path("results[0].timestamp"));
        Instant before = Instant.now();
        set(format, secret(TOKEN), "").then().statusCode(201);
        awaitEnd();
        JsonNode one = taken.get(0);
        Instant shown = switch (format) {
            case "datadog" -> Instant.parse(one.path("timestamp").asText());
            case "splunk_hec" ->
                Instant.ofEpochMilli(
                        one.path("time").decimalValue().movePointRight(3).longValue());
            default -> Instant.parse(one.path("@timestamp").asText());
        };
        if (isOwn) {
            assertThat(shown.truncatedTo(ChronoUnit.MILLIS)).isEqualTo(own.truncatedTo(ChronoUnit.MILLIS));
        } else {
            assertThat(shown).isBetween(before.minusSeconds(1), Instant.now());
            JsonNode whole = one.path(format.equals("datadog") ? "annals" : "event");
            assertThat(Instant.parse(whole.path("timestamp").asText())).isEqualTo(own);
        }
    }

    /** As Elasticsearch 8.19 and 9.1 have it for logs by default: the answer is 201, and the data stream lacks the record. */
    @Test
    void aRecordInTheFailureStoreOfElasticsearchIsRefused() throws Exception {
        append(1);
        behaviour = documents -> new Says(
                200, "{\"errors\":false,\"items\":[{\"create\":{\"status\":201,\"failure_store\":\"used\"}}]}");
        set("elastic", secret(TOKEN), ", \"on_refusal\": \"dead_letter\", \"max_refusals\": 1")
                .then()
                .statusCode(201);
        awaitEnd();
        get().then().body("dead_letters", equalTo(1));
        project.request().get(STREAM + "/dead-letters").then().body(containsString("failure store"));
    }

    private List<Integer> sequences() {
        return taken.stream()
                .map(document -> document.path("event").path("sequence").intValue())
                .toList();
    }

    @Test
    void elasticsearchGetsEachRecordOnceInTheFieldsOfEcs() throws Exception {
        append(20);
        log.run("insert into annals.audit_record (project_id, action, outcome, actor_type, message, metadata) select '"
                + project.id() + "', 'act', 'denied', 'user', repeat('<!channel> \u202E🎉 ', 500),"
                + " jsonb_build_object('@timestamp', n, 'a.b', repeat('x', 120000)) from generate_series(1, 2) as n");
        set("elastic", secret("wrong"), "").then().statusCode(201);
        awaitFailure("401");
        ofItem = document -> document.path("event").path("sequence").asInt() == 9 ? 429 : 201;
        set("elastic", secret(TOKEN), "").then().statusCode(200);
        awaitFailure("429 for a record. It says of_the_test");
        ofItem = document -> 403;
        awaitFailure("403 for a record");
        behaviour = documents -> new Says(200, "<html>Please sign in</html>");
        awaitFailure("no answer of the bulk API");
        ofItem = document -> 201;
        behaviour = documents -> null;
        awaitEnd();
        assertThat(sequences()).containsExactlyInAnyOrderElementsOf(all(22));
        JsonNode first = taken.get(0);
        assertThat(first.path("@timestamp").asText()).isEqualTo("2026-01-02T03:04:05.678901Z");
        assertThat(first.path("message").asText()).isEqualTo("Record \"1\"\n{}");
        assertThat(first.path("event").path("action").asText()).isEqualTo("act");
        assertThat(first.path("event").path("kind").asText()).isEqualTo("event");
        assertThat(first.path("event").path("outcome").asText()).isEqualTo("failure");
        assertThat(first.path("user").path("id").asText()).isEqualTo("u-1");
        assertThat(first.path("source").path("ip").asText()).isEqualTo("10.0.0.1");
        assertThat(first.path("annals").path("project_id").asText())
                .isEqualTo(project.id().toString());
        assertThat(index).allMatch(id -> id.startsWith(project.id() + ":"));
        JsonNode last = taken.get(21);
        assertThat(last.path("annals").path("outcome").asText()).isEqualTo("denied");
        assertThat(last.path("annals").path("metadata").isTextual()).isTrue();
        project.request().post(STREAM + "/test").then().statusCode(200).body("outcome", equalTo("delivered"));
    }

    @Test
    void anItemThatElasticsearchCannotIndexBecomesADeadLetterAndNoOther() throws Exception {
        append(30);
        behaviour = documents -> documents.size() > 20
                ? new Says(413, "")
                : documents.size() > 10
                        ? new Says(200, "{\"items\":[" + "{\"create\":{\"status\":201}},".repeat(3_000) + "{}]}")
                        : null;
        ofItem = document -> document.path("event").path("sequence").asInt() % 10 == 7 ? 400 : 201;
        set("elastic", secret(TOKEN), ", \"on_refusal\": \"dead_letter\", \"max_refusals\": 1")
                .then()
                .statusCode(201);
        awaitEnd();
        assertThat(sequences())
                .isEqualTo(all(30).stream().filter(id -> id % 10 != 7).toList());
        get().then().body("dead_letters", equalTo(3));
        project.request()
                .get(STREAM + "/dead-letters")
                .then()
                .body("dead_letters[0].reason", containsString("It says of_the_test: status 400"));
    }

    /** A signing key is not to be sent, and a token is no signing key. */
    @Test
    void aFormatWithAnotherKindOfSecretNeedsIt() {
        set("splunk_hec", secret(TOKEN), "").then().statusCode(201);
        set("splunk_hec", "", "").then().statusCode(200);
        Response refused = set("json", "", "");
        assertProblem(refused.then().extract(), 422, "invalid-body");
        assertThat(pointers(refused.then().extract())).containsExactly("/sink/secret");
        assertThat(pointers(set("splunk_hec", secret("a\\r\\nX: y"), "").then().extract()))
                .containsExactly("/sink/secret");
        assertThat(pointers(set("cef", secret(TOKEN), "").then().extract())).contains("/format");
    }
}
