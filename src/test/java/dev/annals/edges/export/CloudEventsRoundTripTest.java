package dev.annals.edges.export;

import static dev.annals.ProblemAssertions.assertProblem;
import static dev.annals.ProblemAssertions.pointers;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.ProjectTest;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.config.EncoderConfig;
import io.restassured.config.RestAssuredConfig;
import io.restassured.response.ExtractableResponse;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Exported CloudEvents are read back as equal records, and other events become records, once each. */
@QuarkusTest
class CloudEventsRoundTripTest extends ProjectTest {

    private static final String ONE = "/v1/cloudevents";
    private static final String BATCH = ONE + "/batch";
    private static final String OWN = "\"specversion\": \"1.0\", \"source\": \"s\", \"type\": \"dev.annals.record.a\"";

    @TestHTTPResource("/")
    URI service;

    private static ExtractableResponse<Response> send(Project to, String path, byte[] body) {
        return to.wrongRequest()
                .contentType("application/cloudevents" + (path.equals(ONE) ? "" : "-batch") + "+json; charset=UTF-8")
                .body(body)
                .post(path)
                .then()
                .extract();
    }

    private ExtractableResponse<Response> send(String event) {
        return send(project, ONE, event.getBytes(UTF_8));
    }

    /** A record as sent, and as stored. */
    private static List<ObjectNode> content(List<JsonNode> feed) {
        List<ObjectNode> records = new ArrayList<>();
        for (JsonNode record : feed) {
            ObjectNode content = record.deepCopy();
            content.remove(List.of("recorded_at", "recorded_by"));
            records.add(content);
        }
        return records;
    }

    @Test
    void anExportIsReadBackAsTheSameRecords() throws Exception {
        ExportClient from = new ExportClient(project, service);
        from.append(HostileRecords.all().toArray(String[]::new));
        String actionOfManyBytes = "\uD83D\uDE80".repeat(255);
        from.append(
                "{\"action\": \"" + actionOfManyBytes + "\", \"subject\": {\"id\": \"" + "s".repeat(1_024) + "\"}}");
        project.request()
                .contentType("application/json")
                .body("{\"kind\": \"SYNCHRONOUS\", \"start\": 7}")
                .put("/v1/sequences/invoice")
                .then()
                .statusCode(201);
        from.append("{\"action\": \"a\", \"message\": \"m\", \"actor\": {\"name\": \"Jane\"}}");
        List<JsonNode> feed = from.feed();
        List<String> events = from.text("?format=cloudevents").lines().toList();
        Project to = log.newProject();

        for (String event : events.subList(0, 5)) {
            assertThat(send(to, ONE, event.getBytes(UTF_8)).statusCode())
                    .as(event)
                    .isEqualTo(201);
        }
        byte[] batch = ("[" + String.join(",\n", events) + "]").getBytes(UTF_8);
        assertThat(send(to, BATCH, batch).statusCode()).isEqualTo(201);
        assertThat(send(to, BATCH, batch).statusCode()).isEqualTo(200);
        assertThat(send(to, ONE, events.get(0).getBytes(UTF_8)).statusCode()).isEqualTo(200);
        assertThat(content(new ExportClient(to, service).feed())).isEqualTo(content(feed));
        assertThat(log.checkFeed(to.id())).isEqualTo(feed.size());

        // And where they came from, with numbers and without what was redacted.
        from.append("{\"action\": \"numbered\", \"number\": {\"sequence\": \"invoice\"}}");
        project = new Project(project.id(), log.newToken(project.id(), "read", "write", "redact"));
        project.wrongRequest()
                .contentType("application/json")
                .body("{\"fields\": [\"message\", \"actor.name\"], \"reason\": \"of a test\"}")
                .post(AuditLogFixture.LOGS + "/"
                        + feed.get(feed.size() - 1).get("id").asText() + "/redactions")
                .then()
                .statusCode(200);
        for (String event : from.text("?format=cloudevents").lines().toList()) {
            if (!event.contains("\"action\":\"annals.redact\"")) {
                assertThat(send(event).statusCode()).as(event).isEqualTo(200);
            }
        }
    }

    @Test
    void anyOtherEventBecomesARecordOnce() throws Exception {
        String event = """
                {"specversion": "1.0", "id": "order-17", "source": "https://shop.example.org", "type": "order.shipped",
                 "subject": "order-17", "time": "2025-09-03T13:15:19.391447+02:00", "authtype": "user", "authid": "u-1",
                 "datacontenttype": "application/json", "traceparent": "00-1", "retries": 3,
                 "data": {"parcels": 12345678901234567890.0000000000001}}""";
        assertThat(send(event).statusCode()).isEqualTo(201);
        assertThat(send(event).statusCode()).isEqualTo(200);
        assertThat(send(event.replace("shop.example", "other.example")).statusCode())
                .isEqualTo(201);
        assertProblem(send(event.replace("order.shipped", "order.lost")), 409, "record-id-taken");
        String id = UUID.randomUUID().toString();
        assertThat(send("{\"specversion\": \"1.0\", \"id\": \"" + id
                                + "\", \"source\": \"s\", \"type\": \"a\", \"data_base64\":" + " \"AQID\"}")
                        .<String>path("metadata.cloudevent.id"))
                .isEqualTo(id);
        JsonNode record = new ExportClient(project, service).feed().get(0);
        ((ObjectNode) record).remove(List.of("id", "recorded_at", "recorded_by"));
        assertThat(record).isEqualTo(ExportClient.JSON.readTree("""
                {"sequence_id": 1, "action": "order.shipped", "actor": {"type": "user", "id": "u-1"},
                 "subject": {"id": "order-17"}, "timestamp": "2025-09-03T11:15:19.391447Z", "metadata": {
                   "cloudevent": {"id": "order-17", "source": "https://shop.example.org", "datacontenttype":
                     "application/json", "traceparent": "00-1", "retries": "3"},
                   "data": {"parcels": 12345678901234567890.0000000000001}}}"""));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                [] |
                null |
                7 |
                {} | /specversion
                {"specversion": "0.3", "id": "1", "source": "s", "type": "a"} | /specversion
                {"specversion": 1.0, "id": "1", "source": "s", "type": "a"} | /specversion
                {"specversion": "1.0", "id": "", "source": "s", "type": "a"} | /id
                {"specversion": "1.0", "id": 5, "source": "s", "type": "a"} | /id
                {"specversion": "1.0", "id": "1", "type": "a"} | /source
                {"specversion": "1.0", "id": "1", "source": "s", "type": null} | /type
                {"specversion": "1.0", "id": "1", "source": "s", "type": "annals.x"} | /type
                {"specversion": "1.0", "id": "1", "source": "s", "type": "a", "time": "now"} | /time
                {"specversion": "1.0", "id": "1", "source": "s", "type": "a", "x": {}} | /x
                {"specversion": "1.0", "id": "1", "source": "s", "type": "a", "X": 1} |
                {"specversion": "1.0", "id": "1", "source": "s", "type": "a", "data": {"x": "\\u0000"}} | /data/x
                {"specversion": "1.0", "id": "1", "source": "s", "type": "a", "subject": "\\ud800"} | /subject
                {"specversion": "1.0", "id": "1", "source": "s", "type": "a", "data": 1e999} | /data
                {"specversion": "1.0", "id": "1", "source": "s", "type": "dev.annals.record.a"} | /data
                {"specversion": "1.0", "id": "1", "source": "s", "type": "dev.annals.record.a", "data": []} | /data
                {"specversion": "1.0", "id": "1", "source": "s", "type": "dev.annals.record.a", "data": {"action": "a"}} | /data/id
                {"specversion": "1.0", "id": "1", "source": "s", "type": "dev.annals.record.a", "data": {"action": 1}} | /data/id /data/action
                {"specversion": "1.0", "id": "1", "source": "s", "type": "dev.annals.record.a", "data": {"x": 1}} | /data/id /data/x /data/action
                """)
    void anEventThatCannotBeARecordIsRefusedWithTheField(String event, String pointers) throws Exception {
        ExtractableResponse<Response> answer = assertProblem(send(event), 422, "invalid-record");
        String expected = pointers == null ? "" : pointers;
        assertThat(pointers(answer)).containsExactly(expected.split(" ", -1));
        if (event.startsWith("{")) {
            ExtractableResponse<Response> batch =
                    assertProblem(send(project, BATCH, ("[" + event + "]").getBytes(UTF_8)), 422, "invalid-record");
            assertThat(pointers(batch)).first().asString().startsWith("/0" + expected.split(" ", -1)[0]);
        }
        assertThat(log.checkFeed(project.id())).isZero();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "{",
                "{\"id\": \"1\", \"id\": \"2\"}",
                "{\"specversion\": \"1.0\", \"id\": \"1\", \"source\": \"s\", \"type\": \"a\"} {}",
                "{\"data\": {\"x\": 1, \"x\": 2}}",
                "{\"data\": NaN}",
                "{\"data\": \"\u0001\"}"
            })
    void aBodyThatIsNoJsonIsRefused(String body) {
        assertProblem(send(body), 400, "malformed-json");
        if (!body.isEmpty()) {
            assertProblem(send(project, BATCH, ("[" + body + "]").getBytes(UTF_8)), 400, "malformed-json");
        }
    }

    @Test
    void hostileBodiesAreRefused() throws Exception {
        byte[] overlong = ("{" + OWN + ", \"id\": \"??\"}").getBytes(UTF_8);
        int at = new String(overlong, UTF_8).indexOf("??");
        overlong[at] = (byte) 0xC0;
        overlong[at + 1] = (byte) 0xAF;
        assertProblem(send(project, ONE, overlong), 400, "malformed-json");
        assertProblem(send("{" + OWN + ", \"id\": \"1\", \"data\": " + "[".repeat(100_000)), 422, "invalid-record");
        assertProblem(
                send("{" + OWN + ", \"id\": \"1\", \"data\": {\"x\": " + "9".repeat(100_000) + "}}"),
                422,
                "invalid-record");
        assertProblem(send("{" + OWN + ", \"id\": \"" + "x".repeat(5_000) + "\"}"), 422, "invalid-record");
        StringBuilder many = new StringBuilder("{" + OWN);
        for (int i = 0; i < 10_000; i++) {
            many.append(", \"x").append(i).append("\": 1");
        }
        assertProblem(send(many + "}"), 422, "invalid-record");
        String id = UUID.randomUUID().toString();
        String large = "{" + OWN + ", \"id\": \"" + id + "\", \"data\": {\"action\": \"a\", \"message\": \"%s\"}}";
        assertProblem(send(large.formatted("m".repeat(70_000))), 422, "invalid-record");
        assertProblem(
                send(large.formatted("m").replace("\"data\": {", "\"data\": {\"id\": \"" + UUID.randomUUID() + "\", ")),
                422,
                "invalid-record");
        String event = large.formatted("m");
        assertProblem(
                send(project, BATCH, ("[" + event + "," + event.replace("\"m\"", "\"n\"") + "]").getBytes(UTF_8)),
                422,
                "invalid-record");
        assertProblem(send(project, BATCH, "[]".getBytes(UTF_8)), 422, "invalid-record");
        assertProblem(
                send(project, BATCH, ("[" + (event + ",").repeat(1_000) + event + "]").getBytes(UTF_8)),
                422,
                "too-many-records");
        assertThat(log.checkFeed(project.id())).isZero();
    }

    @Test
    void anEventIsTakenOnlyAsWhatItIsDeclaredAs() {
        String event = "{\"specversion\": \"1.0\", \"id\": \"1\", \"source\": \"s\", \"type\": \"a\"}";
        for (String type : new String[] {"application/json", "application/cloudevents+xml", "text/plain"}) {
            assertProblem(
                    project.wrongRequest()
                            .contentType(type)
                            .body(event.getBytes(UTF_8))
                            .post(ONE)
                            .then()
                            .extract(),
                    415,
                    "unsupported-media-type");
        }
        project.request()
                .contentType("application/cloudevents+json; charset=UTF-8")
                .body(event)
                .post(ONE)
                .then()
                .statusCode(201);
        project.request()
                .contentType("application/cloudevents-batch+json; charset=UTF-8")
                .body("[" + event + "]")
                .post(BATCH)
                .then()
                .statusCode(200);
    }

    @Test
    void eventsAreTheSameBySourceAndIdTogether() throws Exception {
        String id = UUID.randomUUID().toString();
        String event = """
                {"specversion": "1.0", "id": "%s", "source": "%s", "type": "a", "data": {"x": 1}%s}""";
        String first = event.formatted(id, "s", ", \"traceparent\": \"00-1\"");
        assertThat(send(first).statusCode()).isEqualTo(201);
        assertThat(send(event.formatted(id, "other", "")).statusCode()).isEqualTo(201);
        for (String more :
                List.of("", ", \"traceparent\": \"00-2\"", ", \"tracestate\": \"x=1\", \"sampledrate\": 3")) {
            assertThat(send(event.formatted(id, "s", more)).statusCode())
                    .as(more)
                    .isEqualTo(200);
        }
        assertProblem(send(event.formatted(id, "s", "").replace("1}", "2}")), 409, "record-id-taken");
        assertProblem(send(event.formatted(id, "s", ", \"dataschema\": \"d\"")), 409, "record-id-taken");

        String third = event.formatted("3", "s", "");
        String batch = "["
                + String.join(
                        ", ",
                        third,
                        first,
                        third,
                        event.formatted("3", "s", ", \"traceparent\": \"9\""),
                        event.formatted("4", "s", ""))
                + "]";
        ExtractableResponse<Response> answer = send(project, BATCH, batch.getBytes(UTF_8));
        assertThat(answer.statusCode()).isEqualTo(201);
        assertThat(answer.<List<Integer>>path("results.sequence_id")).containsExactly(3, 1, 3, 3, 4);
        assertProblem(
                send(project, BATCH, ("[" + third + ", " + third.replace("1}", "2}") + "]").getBytes(UTF_8)),
                422,
                "invalid-record");
        ExtractableResponse<Response> taken = assertProblem(
                send(
                        project,
                        BATCH,
                        ("[" + third + ", " + third + ", " + first.replace("1}", "2}") + "]").getBytes(UTF_8)),
                409,
                "record-id-taken");
        assertThat(pointers(taken)).containsExactly("/2/data/id");
        assertThat(log.checkFeed(project.id())).isEqualTo(4);
    }

    private ExtractableResponse<Response> binary(String type, byte[] body, String... headers) {
        RequestSpecification request = project.wrongRequest()
                .config(RestAssuredConfig.config()
                        .encoderConfig(EncoderConfig.encoderConfig()
                                .appendDefaultContentCharsetToContentTypeIfUndefined(false)))
                .header("Ce-SpecVersion", "1.0")
                .header("ce-source", "s")
                .header("ce-type", "a");
        for (int i = 0; i < headers.length; i += 2) {
            request = request.header(headers[i], headers[i + 1]);
        }
        return request.contentType(type).body(body).post(ONE).then().extract();
    }

    @Test
    void binaryModeIsTaken() throws Exception {
        String id = UUID.randomUUID().toString();
        assertThat(binary(
                                "application/json",
                                "{\"x\": [1.50]}".getBytes(UTF_8),
                                "ce-id",
                                id,
                                "ce-subject",
                                "\"Euro %E2%82%AC \\\"%F0%9F%98%80\\\" 50%25 100% %zz\"",
                                "ce-time",
                                "2025-09-03T11:15:19Z",
                                "CE-Retries",
                                "3")
                        .statusCode())
                .isEqualTo(201);
        assertThat(send("""
                {"specversion": "1.0", "id": "%s", "source": "s", "type": "a", "datacontenttype": "application/json",
                 "subject": "Euro € \\"\uD83D\uDE00\\" 50%% 100%% %%zz", "time": "2025-09-03T11:15:19Z", "data": {"x": [1.5]}}""".formatted(id)).statusCode()).isEqualTo(200);
        assertThat(binary("text/plain", "Zürich".getBytes(UTF_8), "ce-id", "2").<String>path("metadata.data"))
                .isEqualTo("Zürich");
        assertThat(binary("application/octet-stream", new byte[] {1, 2, -1}, "ce-id", "3")
                        .<String>path("metadata.cloudevent.data_base64"))
                .isEqualTo("AQL/");
        assertThat(binary("text/plain", new byte[] {-1}, "ce-id", "4").<String>path("metadata.cloudevent.data_base64"))
                .isEqualTo("/w==");
        assertThat(binary("application/vnd.x+json", "7".getBytes(UTF_8), "ce-id", "5")
                        .<Integer>path("metadata.data"))
                .isEqualTo(7);
        assertThat(binary("application/json", new byte[0], "ce-id", "6").<Object>path("metadata.data"))
                .isNull();
        assertThat(binary(
                                "application/json",
                                ("{\"id\": \"" + id + "\", \"action\": \"own\"}").getBytes(UTF_8),
                                "ce-id",
                                UUID.randomUUID().toString(),
                                "ce-type",
                                "x")
                        .statusCode())
                .isEqualTo(422); // ce-type twice
        assertProblem(binary("application/json", "{".getBytes(UTF_8), "ce-id", "7"), 400, "malformed-json");
        assertThat(pointers(binary("application/json", "{}".getBytes(UTF_8)))).containsExactly("/id");
        assertThat(pointers(binary("application/json", "{}".getBytes(UTF_8), "ce-id", "8", "ce-subject", "%ff")))
                .containsExactly("/subject");
        assertThat(pointers(binary("application/json", "{}".getBytes(UTF_8), "ce-id", "8", "ce-x_y", "1")))
                .containsExactly("");
        assertThat(log.checkFeed(project.id())).isEqualTo(6);
    }
}
