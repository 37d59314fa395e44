package dev.annals.edges.intake;

import static dev.annals.ProblemAssertions.assertProblem;
import static dev.annals.edges.intake.OtlpWire.attribute;
import static dev.annals.edges.intake.OtlpWire.field;
import static dev.annals.edges.intake.OtlpWire.fixed64;
import static dev.annals.edges.intake.OtlpWire.join;
import static dev.annals.edges.intake.OtlpWire.number;
import static dev.annals.edges.intake.OtlpWire.request;
import static io.restassured.RestAssured.given;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.equalTo;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.annals.AuditLogFixture;
import dev.annals.ProjectTest;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.ExtractableResponse;
import io.restassured.response.Response;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Log records by OTLP become records, once each; what cannot become one is refused by name. */
@QuarkusTest
class OtlpLogsTest extends ProjectTest {

    private static final String LOGS = "/v1/logs";
    private static final String PROTOBUF = "application/x-protobuf";
    private static final long TIME = 1_756_898_119_391_447_123L;
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    @TestHTTPResource("/")
    URI service;

    private ExtractableResponse<Response> json(String body) {
        return project.wrongRequest()
                .contentType("application/json")
                .body(body.getBytes(UTF_8))
                .post(LOGS)
                .then()
                .extract();
    }

    private HttpResponse<byte[]> protobuf(byte[] body, String... headers) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(service.resolve(LOGS))
                .header("Authorization", "Bearer " + project.token())
                .header("Content-Type", PROTOBUF)
                .POST(HttpRequest.BodyPublishers.ofByteArray(body));
        for (int i = 0; i < headers.length; i += 2) {
            request.header(headers[i], headers[i + 1]);
        }
        return HTTP.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
    }

    /** The one field of a message that is a message or a text; empty if it is not there. */
    private static byte[] only(int field, byte[] message) {
        ProtobufReader fields = new ProtobufReader(message, 0, message.length);
        while (fields.next()) {
            if (fields.field() == field) {
                ByteBuffer value = fields.bytes();
                byte[] bytes = new byte[value.remaining()];
                value.get(bytes);
                return bytes;
            }
        }
        return new byte[0];
    }

    /** The number of refused log records, and the reasons. */
    private static String refused(HttpResponse<byte[]> answer) {
        assertThat(answer.statusCode()).isEqualTo(200);
        assertThat(answer.headers().firstValue("Content-Type")).contains(PROTOBUF);
        byte[] partial = only(1, answer.body());
        if (partial.length == 0) {
            assertThat(answer.body()).isEmpty();
            return "0";
        }
        ProtobufReader fields = new ProtobufReader(partial, 0, partial.length);
        assertThat(fields.next()).isTrue();
        return fields.varint() + " " + new String(only(2, partial), UTF_8);
    }

    private List<JsonNode> feed() throws IOException {
        List<JsonNode> records = new ArrayList<>();
        JSON.readTree(project.wrongRequest()
                        .get(AuditLogFixture.LOGS + "?limit=1000")
                        .asByteArray())
                .get("results")
                .forEach(records::add);
        return records;
    }

    private static String logs(String... logRecords) {
        return "{\"resourceLogs\": [{\"resource\": {\"attributes\": [{\"key\": \"service.name\", \"value\": {\"stringValue\":"
                + " \"shop\"}}]}, \"scopeLogs\": [{\"scope\": {\"name\": \"s\", \"version\": \"1\"}, \"logRecords\": ["
                + String.join(", ", logRecords) + "]}]}]}";
    }

    private static String log(String fields, String... attributes) {
        StringBuilder all = new StringBuilder();
        for (int i = 0; i < attributes.length; i += 2) {
            all.append(i == 0 ? "" : ", ")
                    .append("{\"key\": \"%s\", \"value\": {\"stringValue\": \"%s\"}}"
                            .formatted(attributes[i], attributes[i + 1]));
        }
        return "{" + fields + ", \"attributes\": [" + all + "]}";
    }

    private static String timed(String... attributes) {
        return log("\"timeUnixNano\": \"" + TIME + "\"", attributes);
    }

    @Test
    void aLogRecordIsTheRecordThatItsAttributesSay() throws Exception {
        String id = UUID.randomUUID().toString();
        ExtractableResponse<Response> answer = project.request()
                .contentType("application/json")
                .body(logs(log(
                        "\"timeUnixNano\": \"" + TIME
                                + "\", \"severityNumber\": 9, \"severityText\": \"INFO\", \"eventName\": \"e\", \"body\":"
                                + " {\"stringValue\": \"Volume has been created\"}, \"traceId\":"
                                + " \"5B8EFFF798038103D269B633813FC60C\", \"spanId\": \"EEE19B7EC3C1B174\"",
                        "audit.id",
                        id,
                        "audit.action",
                        "volume_create",
                        "audit.actor.type",
                        "user",
                        "audit.actor.id",
                        "u-1",
                        "audit.actor.name",
                        "Jane",
                        "audit.subject.id",
                        "v-7",
                        "audit.outcome",
                        "success",
                        "audit.ip_address",
                        "2001:DB8::7",
                        "http.route",
                        "/volumes")))
                .post(LOGS)
                .then()
                .statusCode(200)
                .extract();
        assertThat(answer.asString()).isEqualTo("{}");
        JsonNode record = feed().get(0);
        JsonNode expected = JSON.readTree("""
                {"id": "%s", "sequence_id": 1, "action": "volume_create",
                 "actor": {"type": "user", "id": "u-1", "name": "Jane"}, "subject": {"id": "v-7"},
                 "outcome": "success", "ip_address": "2001:db8::7", "message": "Volume has been created",
                 "timestamp": "2025-09-03T11:15:19.391447Z", "metadata": {
                   "attributes": {"http.route": "/volumes"}, "trace_id": "5b8efff798038103d269b633813fc60c",
                   "span_id": "eee19b7ec3c1b174", "event_name": "e", "severity_text": "INFO", "severity_number": 9,
                   "resource": {"service.name": "shop"}, "scope": {"name": "s", "version": "1"}}}""".formatted(id));
        ((ObjectNode) record).remove(List.of("recorded_at", "recorded_by"));
        assertThat(record).isEqualTo(expected);
    }

    /** As protobuf's JSON mapping has it: a number or a text, with or without an exponent. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "1758000000000000000",
                "\"1758000000000000000\"",
                "1.758e18",
                "\"1.758e18\"",
                "1.758E+18",
                "17580000000e8",
                "1758000000000000000.0",
                "\"175800000000000000000e-2\""
            })
    void wholeNumbersMayBeWrittenInEveryWayOfProtobufsJson(String time) throws Exception {
        project.request()
                .contentType("application/json")
                .body(logs(log("\"timeUnixNano\": " + time + ", \"body\": {\"intValue\": 1.5e1}", "audit.action", "a")))
                .post(LOGS)
                .then()
                .statusCode(200)
                .body(equalTo("{}"));
        assertThat(feed().get(0).get("timestamp").textValue()).isEqualTo("2025-09-16T05:20:00.000000Z");
        assertThat(feed().get(0).at("/metadata/body").longValue()).isEqualTo(15);
    }

    @Test
    void anInvalidTraceIsNoTraceAndTheRecordIsStored() throws Exception {
        String good = "5b8efff798038103d269b633813fc60c";
        List<String> bad = List.of(
                "\"\"",
                "\"" + "0".repeat(32) + "\"",
                "\"ABC\"",
                "\"" + good.substring(1) + "\"",
                "\"" + good + "00\"",
                "\"" + good.replace('5', 'G') + "\"",
                "\"" + good.replace('5', '\u0665') + "\"",
                "\"W47/95gDgQPSabYzgT/GDA==\"",
                "7",
                "null",
                "{}");
        for (String id : bad) {
            project.request()
                    .contentType("application/json")
                    .body(logs(timed(
                                    "audit.action",
                                    "a",
                                    "audit.id",
                                    UUID.randomUUID().toString())
                            .replaceFirst("\\{", "{\"traceId\": " + id + ", \"spanId\": " + id + ",")))
                    .post(LOGS)
                    .then()
                    .statusCode(200)
                    .body(equalTo("{}"));
        }
        for (int length : new int[] {0, 1, 15, 17}) {
            byte[] log = join(
                    OtlpWire.log(
                            TIME,
                            "audit.action",
                            "a",
                            "audit.id",
                            UUID.randomUUID().toString()),
                    field(9, new byte[length]),
                    field(10, "x".repeat(length).getBytes(UTF_8)));
            assertThat(refused(protobuf(request(log)))).isEqualTo("0");
        }
        assertThat(feed())
                .hasSize(bad.size() + 4)
                .noneMatch(record -> record.at("/metadata/trace_id").isTextual()
                        || record.at("/metadata/span_id").isTextual());
    }

    @Test
    void bytesAreTheSameInEitherAlphabetOfBase64() throws Exception {
        for (String bytes : List.of("-_8=", "-_8", "+/8=", "+/8")) {
            project.request()
                    .contentType("application/json")
                    .body(logs(log(
                            "\"timeUnixNano\": 5, \"body\": {\"bytesValue\": \"" + bytes + "\"}", "audit.action", "a")))
                    .post(LOGS)
                    .then()
                    .statusCode(200);
        }
        assertThat(feed()).hasSize(1);
        assertThat(feed().get(0).get("message").textValue()).isEqualTo("+/8=");
    }

    @Test
    void everyKindOfValueIsKept() throws Exception {
        byte[] list =
                field(5, join(field(1, number(3, 7)), field(1, field(1, "x".getBytes(UTF_8))), field(1, new byte[0])));
        byte[] map = field(6, field(1, join(field(1, "k".getBytes(UTF_8)), field(2, number(2, 1)))));
        byte[] log = join(
                OtlpWire.log(TIME, "audit.action", "a"),
                attribute(6, "int", number(3, Long.MIN_VALUE)),
                attribute(6, "double", fixed64(4, Double.doubleToLongBits(0.1))),
                attribute(6, "nan", fixed64(4, Double.doubleToLongBits(Double.NaN))),
                attribute(6, "bytes", field(7, new byte[] {1, 2, 3})),
                attribute(6, "list", list),
                attribute(6, "map", map),
                field(5, map),
                field(9, new byte[16]),
                number(7, 3),
                number(99, 5));
        assertThat(refused(protobuf(request(log)))).isEqualTo("0");
        assertThat(feed().get(0).get("metadata")).isEqualTo(JSON.readTree("""
                {"attributes": {"int": -9223372036854775808, "double": 0.1, "nan": "NaN", "bytes": "AQID",
                 "list": [7, "x", null], "map": {"k": true}}, "body": {"k": true}, "dropped_attributes": 3}"""));
    }

    @Test
    void aRepeatedLogRecordIsStoredOnceInEitherEncodingAndInAnyBatch() throws Exception {
        byte[] one = OtlpWire.log(TIME, "audit.action", "login", "audit.actor.id", "u-1", "x", "y");
        byte[] two = OtlpWire.log(TIME + 1, "audit.action", "login", "audit.actor.id", "u-1", "x", "y");
        assertThat(refused(protobuf(request("shop", one, two)))).isEqualTo("0");
        assertThat(refused(protobuf(request("shop", one, two)))).isEqualTo("0");
        assertThat(refused(protobuf(request("shop", two)))).isEqualTo("0");
        assertThat(refused(protobuf(request("shop", two, one, two)))).isEqualTo("0");
        String sorted = timed("x", "y", "audit.actor.id", "u-1", "audit.action", "login");
        assertThat(json(logs(sorted).replace("\"scope\": {\"name\": \"s\", \"version\": \"1\"}, ", ""))
                        .asString())
                .isEqualTo("{}");
        // The second differs by a nanosecond, which its timestamp does not show.
        List<JsonNode> feed = feed();
        assertThat(feed).hasSize(2);
        assertThat(feed.get(0).get("timestamp")).isEqualTo(feed.get(1).get("timestamp"));
        assertThat(feed.get(0).get("id").asText().substring(0, 13)).isEqualTo("01990f49-cedf");
        // Nor are those one that differ in when they were observed, or in their resource.
        protobuf(request("shop", join(one, fixed64(11, 5))));
        protobuf(request("other", one));
        assertThat(feed()).hasSize(4);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                "x": 1 | audit.actor.id=u | it has neither audit.id nor a time
                "timeUnixNano": "5" | x=y | audit.action is required
                "timeUnixNano": "5" | audit.action=a,audit.actor_id=u | audit.actor_id is no attribute of a record
                "timeUnixNano": "5" | audit.action=annals.x | audit.action must not begin with annals.
                "timeUnixNano": "5" | audit.action=a,audit.id=1 | audit.id must be a UUID
                "timeUnixNano": "5" | audit.action=a,audit.action=b | audit.action occurs twice
                "timeUnixNano": "5" | audit.action=a,audit.ip_address=here | audit.ip_address must be
                "timeUnixNano": "5" | audit.action=a,x=\\u0000 | metadata/attributes/x must not contain the NUL
                "timeUnixNano": "5" | audit.action=a,x=\\ud800 | half of a surrogate pair
                "timeUnixNano": "-5" | audit.action=a | timeUnixNano must be a whole number
                "timeUnixNano": "5.5" | audit.action=a | timeUnixNano must be a whole number
                "timeUnixNano": 5.5 | audit.action=a | timeUnixNano must be a whole number
                "timeUnixNano": -1e0 | audit.action=a | timeUnixNano must be a whole number
                "timeUnixNano": "18446744073709551616" | audit.action=a | timeUnixNano must be a whole number
                "timeUnixNano": 1e999999999 | audit.action=a | timeUnixNano must be a whole number
                "timeUnixNano": "1e-999999999" | audit.action=a | timeUnixNano must be a whole number
                "timeUnixNano": "" | audit.action=a | timeUnixNano must be a whole number
                "timeUnixNano": "+5" | audit.action=a | timeUnixNano must be a whole number
                "timeUnixNano": "5", "body": {"intValue": 9223372036854775808} | audit.action=a | intValue must be a whole number
                "timeUnixNano": "5", "body": {"intValue": "x"} | audit.action=a | intValue must be a whole number
                "timeUnixNano": "5", "body": {"boolValue": "true"} | audit.action=a | boolValue must be
                "timeUnixNano": "5", "body": {"doubleValue": []} | audit.action=a | doubleValue must be a number
                "timeUnixNano": "5", "body": {"arrayValue": {"values": 5}} | audit.action=a | values must be an array
                "timeUnixNano": "5", "timeUnixNano": "6" | audit.action=a | it is malformed, or has a field twice
                "timeUnixNano": "5" | audit.action=a,audit.number.sequence=none | audit.number.sequence names
                """)
    void aLogRecordThatCannotBeARecordIsRefusedByNameAndTheRestIsStored(String fields, String attributes, String reason)
            throws Exception {
        String wrong = log(fields, attributes.split("[=,]", -1));
        ExtractableResponse<Response> answer =
                json(logs(timed("audit.action", "before"), wrong, timed("audit.action", "behind")));
        assertThat(answer.statusCode()).isEqualTo(200);
        JsonNode partial = JSON.readTree(answer.asString()).get("partialSuccess");
        assertThat(partial.get("rejectedLogRecords").textValue()).isEqualTo("1");
        assertThat(partial.get("errorMessage").textValue())
                .startsWith("log record 1: ")
                .contains(reason);
        assertThat(feed().stream().map(record -> record.get("action").asText())).containsExactly("before", "behind");
    }

    @Test
    void anIdThatIsTakenIsRefusedByName() throws Exception {
        String id = UUID.randomUUID().toString();
        byte[] one = OtlpWire.log(TIME, "audit.action", "a", "audit.id", id);
        byte[] other = OtlpWire.log(TIME, "audit.action", "b", "audit.id", id);
        assertThat(refused(protobuf(request(one, one, other))))
                .isEqualTo("1 log record 2: its audit.id is that of log record 0, which has other content");
        assertThat(refused(protobuf(request(other, OtlpWire.log(TIME, "audit.action", "c"), one, other))))
                .isEqualTo("3 log record 0: its audit.id is that of a stored record, which has other content; "
                        + "log record 2: its audit.id is that of log record 0, which has other content; "
                        + "log record 3: its audit.id is that of a stored record, which has other content");
        assertThat(feed()).hasSize(2);
    }

    @Test
    void theMessageIsBoundedHoweverManyAreRefused() throws Exception {
        byte[][] wrong = new byte[500][];
        for (int i = 0; i < wrong.length; i++) {
            wrong[i] = OtlpWire.log(TIME, "audit." + "x\n\u001b".repeat(1_000) + i, "a");
        }
        String message = refused(protobuf(request(wrong)));
        assertThat(message).startsWith("500 log record 0: audit.x??x??").endsWith("; and 480 more");
        assertThat(message.length()).isLessThan(6_000);
        assertThat(message)
                .doesNotContain("\n", "\u001b")
                .contains("log record 19: ")
                .doesNotContain("log record 20: ");
    }

    @Test
    void aMalformedLogRecordKeepsNoOtherFromBeingStored() throws Exception {
        byte[] good = OtlpWire.log(TIME, "audit.action", "good");
        byte[] deep = new byte[0];
        for (int i = 0; i < 100_000 && deep.length < 200_000; i++) {
            deep = field(5, field(1, deep));
        }
        ByteArrayOutputStream many = new ByteArrayOutputStream();
        for (int i = 0; i < 60_000; i++) {
            many.writeBytes(field(1, new byte[0]));
        }
        byte[][] wrong = {
            {(byte) 0xFF},
            join(good, attribute(6, "x", field(1, new byte[] {(byte) 0xC0, (byte) 0x80}))),
            join(good, attribute(6, "x", field(1, new byte[] {(byte) 0xED, (byte) 0xA0, (byte) 0x80}))),
            join(good, number(1, 5)),
            join(good, new byte[] {0x0B}),
            join(good, OtlpWire.varint(99 << 3 | 2), OtlpWire.varint(Long.MAX_VALUE)),
            join(good, OtlpWire.varint(99 << 3 | 2), OtlpWire.varint(-1)),
            // Cut to 32 bits, it would be the length of what follows.
            join(good, OtlpWire.varint(99 << 3 | 2), OtlpWire.varint((1L << 32) + 1), new byte[] {1}),
            join(good, attribute(6, "x", deep)),
            join(good, attribute(6, "x", field(5, many.toByteArray()))),
            join(good, field(5, field(1, new byte[300_000]))),
            join(good, field(5, field(1, "m".repeat(70_000).getBytes(UTF_8)))),
        };

        for (byte[] log : wrong) {
            assertThat(refused(protobuf(request(log, OtlpWire.log(TIME + 9, "audit.action", "rest")))))
                    .startsWith("1 log record 0: ");
        }
        assertThat(refused(protobuf(field(1, join(field(1, new byte[] {1}), field(2, field(2, good)))))))
                .contains("its resource is malformed");
        assertThat(feed()).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "5",
                "[]",
                "{",
                "{\"resourceLogs\": 5}",
                "{\"resourceLogs\": [5]}",
                "{\"resourceLogs\": [{\"resource\": []}]}",
                "{\"resourceLogs\": [{\"scopeLogs\": {}}]}",
                "{\"resourceLogs\": [{\"scopeLogs\": [{\"logRecords\": [[]]}]}]}",
                "{} {}",
                "{\"resourceLogs\": []}}"
            })
    void aBodyThatIsNoRequestIsRefused(String body) {
        assertProblem(json(body), 400, "malformed-json");
    }

    @Test
    void valuesNestedTooDeeplyAreRefused() {
        assertProblem(json("{\"x\": " + "[".repeat(100_000)), 400, "malformed-json");
        assertProblem(json("{\"resourceLogs\": [{\"resource\": " + "{\"x\":".repeat(5_000)), 400, "malformed-json");
    }

    @Test
    void aSenderOfProtobufIsToldInProtobuf() throws Exception {
        HttpResponse<byte[]> answer = protobuf(new byte[] {(byte) 0xFF});
        assertThat(answer.statusCode()).isEqualTo(400);
        assertThat(answer.headers().firstValue("Content-Type")).contains(PROTOBUF);
        assertThat(new String(only(2, answer.body()), UTF_8))
                .startsWith("Malformed encoding: The body is no ExportLogsServiceRequest");
        HttpResponse<byte[]> unknown = HTTP.send(
                HttpRequest.newBuilder(service.resolve(LOGS))
                        .header("Authorization", "Bearer nobody")
                        .header("Content-Type", PROTOBUF)
                        .POST(HttpRequest.BodyPublishers.noBody())
                        .build(),
                HttpResponse.BodyHandlers.ofByteArray());
        assertThat(unknown.statusCode()).isEqualTo(401);
        assertThat(new String(only(2, unknown.body()), UTF_8)).startsWith("Unauthorized: ");
    }

    @Test
    void anythingThatIsSentIsAnsweredAndNothingIsHeld() throws Exception {
        Random random = new Random(19);
        byte[] good = request("shop", OtlpWire.log(TIME, "audit.action", "a", "x", "y"));
        for (int i = 0; i < 500; i++) {
            byte[] body = good.clone();
            for (int j = 0; j < 1 + i % 4; j++) {
                body[random.nextInt(body.length)] = (byte) random.nextInt();
            }
            assertThat(protobuf(body).statusCode()).isIn(200, 400);
        }
    }

    @Test
    void gzipIsUnpackedAndBombsAreNot() throws Exception {
        byte[] body = request(OtlpWire.log(TIME, "audit.action", "a"));
        assertThat(refused(protobuf(gzip(body), "Content-Encoding", "gzip"))).isEqualTo("0");
        assertThat(protobuf(gzip(new byte[64 << 20]), "Content-Encoding", "gzip")
                        .statusCode())
                .isEqualTo(413);
        assertThat(protobuf(body, "Content-Encoding", "gzip").statusCode()).isEqualTo(400);
        assertThat(feed()).hasSize(1);
    }

    @Test
    void tooManyLogRecordsAndTooMuchThatTheyShareAreRefusedBeforeAnyIsStored() throws Exception {
        byte[][] many = new byte[20_001][];
        Arrays.fill(many, new byte[0]);
        assertThat(protobuf(request(many)).statusCode()).isEqualTo(422);
        byte[][] some = new byte[2_000][];
        Arrays.fill(some, OtlpWire.log(TIME, "audit.action", "a"));
        assertThat(protobuf(request("x".repeat(60_000), some)).statusCode()).isEqualTo(413);
        assertThat(feed()).isEmpty();
        byte[] nothing = new byte[1 << 20];
        for (int i = 0; i < nothing.length; i += 2) {
            nothing[i] = 0x0A;
        }
        assertThat(refused(protobuf(nothing))).isEqualTo("0");
    }

    @Test
    void manyLogRecordsAreStoredInTheirOrder() throws Exception {
        byte[][] many = new byte[2_500][];
        for (int i = 0; i < many.length; i++) {
            many[i] = OtlpWire.log(TIME + i, "audit.action", "a" + i);
        }
        assertThat(refused(protobuf(request("shop", many)))).isEqualTo("0");
        assertThat(refused(protobuf(request("shop", many)))).isEqualTo("0");
        List<JsonNode> feed = feed();
        for (int i = 0; i < 1_000; i++) {
            assertThat(feed.get(i).get("action").asText()).isEqualTo("a" + i);
        }
        assertThat(log.checkFeed(project.id())).isEqualTo(2_500);
    }

    @Test
    void aSenderAtALimitIsToldWhenToSendAgain() throws Exception {
        given().auth()
                .oauth2(AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json")
                .body("{\"records_per_second\": 1}")
                .put("/v1/projects/" + project.id() + "/limits")
                .then()
                .statusCode(200);
        byte[][] some = new byte[60][];
        Arrays.fill(some, OtlpWire.log(TIME, "audit.action", "a"));
        HttpResponse<byte[]> answer = protobuf(request(some));
        while (answer.statusCode() == 200) {
            answer = protobuf(request(some));
        }
        assertThat(answer.statusCode()).isEqualTo(429);
        assertThat(answer.headers().firstValue("Retry-After")).isPresent();
        assertThat(answer.headers().firstValue("Content-Type")).contains(PROTOBUF);
    }

    private static byte[] gzip(byte[] body) throws IOException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
            gzip.write(body);
        }
        return packed.toByteArray();
    }
}
