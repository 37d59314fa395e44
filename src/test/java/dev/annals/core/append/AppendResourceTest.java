package dev.annals.core.append;

import static dev.annals.AuditLogFixture.BATCH;
import static dev.annals.AuditLogFixture.IMPORT;
import static dev.annals.AuditLogFixture.LOGS;
import static dev.annals.AuditLogFixture.batch;
import static dev.annals.AuditLogFixture.pathOf;
import static dev.annals.ProblemAssertions.pointers;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture;
import dev.annals.ProjectTest;
import dev.annals.edges.contract.ContractFilter;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.ExtractableResponse;
import io.restassured.response.Response;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients that keep to the contract append records and batches. */
@QuarkusTest
class AppendResourceTest extends ProjectTest {

    private static final ObjectMapper JSON = new ObjectMapper()
            .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
            .enable(DeserializationFeature.USE_BIG_INTEGER_FOR_INTS);

    @Test
    void oneRecordIsAnsweredAsItIsStoredAndFoundAtItsLocation() throws Exception {
        ExtractableResponse<Response> answer = append("""
                        {"action": "login", "actor": {"id": "u-1"}, "outcome": "success"}""", 201);

        assertThat(answer.<String>path("action")).isEqualTo("login");
        assertThat(answer.<Integer>path("sequence_id")).isEqualTo(1);
        String location = answer.header("Location");
        assertThat(location).startsWith("http://").endsWith("/v1/project-logs/" + answer.path("id"));
        String found =
                project.request().get(location).then().statusCode(200).extract().asString();
        assertSameJson(found, answer.asString());
        assertThat(log.checkFeed(project.id())).isEqualTo(1);
    }

    @Test
    void anUnknownParameterIsRefused() throws Exception {
        for (String parameter : List.of("atomic=true", "atomic=false", "wait=1")) {
            for (String path : List.of(LOGS, BATCH, IMPORT)) {
                project.wrongRequest()
                        .filter(ContractFilter.ofAnswers())
                        .contentType(path.equals(IMPORT) ? "application/x-ndjson" : "application/json")
                        .body((path.equals(BATCH) ? batch("{\"action\": \"a\"}") : "{\"action\": \"a\"}")
                                .getBytes(StandardCharsets.UTF_8))
                        .post(path + "?" + parameter)
                        .then()
                        .statusCode(400)
                        .body("type", equalTo("urn:annals:problem:invalid-parameter"))
                        .body("parameter", equalTo(parameter.replaceAll("=.*", "")));
            }
        }
        assertThat(log.checkFeed(project.id())).isZero();
    }

    @ParameterizedTest
    @CsvSource({
        "/v1/project-logs, application/x-ndjson, POST /v1/project-logs/import",
        "/v1/project-logs/batch, application/x-ndjson, POST /v1/project-logs/import",
        "/v1/project-logs/import, application/json, POST /v1/project-logs/batch",
        "/v1/project-logs/import, text/plain, Content-Type: application/x-ndjson",
    })
    void aMediaTypeOfAnotherOperationIsRefusedAndThatOneIsNamed(String path, String type, String named)
            throws Exception {
        project.wrongRequest()
                .filter(ContractFilter.ofAnswers())
                .header("Content-Type", type)
                .body("{\"action\": \"a\"}".getBytes(StandardCharsets.UTF_8))
                .post(path)
                .then()
                .statusCode(415)
                .body("type", equalTo("urn:annals:problem:unsupported-media-type"))
                .body("detail", containsString(named));
        assertThat(log.checkFeed(project.id())).isZero();
    }

    @Test
    void aRecordOfAnActionAloneGetsAnIdATimestampAndEmptyMetadata() throws Exception {
        OffsetDateTime before = OffsetDateTime.now(ZoneOffset.UTC);

        JsonNode stored = tree(append("{\"action\": \"a\"}", 201));

        assertThat(stored.properties())
                .extracting(Map.Entry::getKey)
                .containsExactlyInAnyOrder(
                        "id", "sequence_id", "action", "timestamp", "recorded_at", "recorded_by", "metadata");
        assertThat(UUID.fromString(stored.get("id").textValue()).version()).isEqualTo(7);
        assertThat(stored.get("metadata")).isEmpty();
        for (String time : List.of("timestamp", "recorded_at")) {
            assertThat(OffsetDateTime.parse(stored.get(time).textValue()))
                    .isBetween(
                            before.minus(Duration.ofSeconds(2)),
                            OffsetDateTime.now(ZoneOffset.UTC).plusSeconds(2));
        }
        assertThat(log.checkFeed(project.id())).isEqualTo(1);
    }

    @Test
    void fieldsThatAreNullAreAsGoodAsLeftOut() throws Exception {
        JsonNode stored = tree(append("""
                {"action": "a", "id": null, "actor": null, "subject": {"id": "x", "name": null}, "outcome": null,
                 "ip_address": null, "message": null, "timestamp": null, "metadata": null}""", 201, false));

        assertThat(stored.has("actor")).isFalse();
        assertThat(stored.get("subject").properties()).hasSize(1);
        assertThat(stored.get("metadata")).isEmpty();
        assertThat(log.checkFeed(project.id())).isEqualTo(1);
    }

    @Test
    void everyFieldComesBackAsItWasSent() throws Exception {
        String metadata = """
                {"z": {"list": [1, [2, [3, {}], []], null, true, false, "ü\\n\\"\\\\\\u0001"]}, "a": 1.50, "big": 12345678901234567890123456789,
                 "tiny": -0.000000000000000000001, "wide": 1e100, "small": 25E-100, "": "empty key", "🗝": "🔑", "a.b/c~d": 0}""";
        String record = """
                {"id": "019A9D5E-7c1a-7b52-9e0d-3f6a1c2b4d5e", "action": "%s",
                 "actor": {"type": "%s", "id": "%s", "name": "Ζωή 🧑‍🚀 \\ud83d\\ude80"},
                 "subject": {"type": "volume", "id": "", "name": "%s"},
                 "outcome": "%s", "ip_address": "2001:DB8:0:0:0::7", "message": "%s",
                 "timestamp": "2025-09-03T13:15:19.391447+02:00", "metadata": %s}""".formatted(
                        "😀".repeat(255),
                        "ä".repeat(255),
                        "i".repeat(1024),
                        "名".repeat(1024),
                        "o".repeat(64),
                        "Zeile\\r\\n\\t\\u0007 \\u202eRTL\\u202c é ".repeat(800),
                        metadata);

        JsonNode stored = tree(append(record, 201));
        JsonNode found = tree(project.request()
                .get("/v1/project-logs/019a9d5e-7c1a-7b52-9e0d-3f6a1c2b4d5e")
                .then()
                .statusCode(200)
                .extract());

        JsonNode expected = JSON.readTree(record);
        for (JsonNode actual : List.of(stored, found)) {
            for (String field : List.of("action", "actor", "subject", "outcome", "message")) {
                assertThat(actual.get(field)).as(field).isEqualTo(expected.get(field));
            }
            assertSameJson(actual.get("metadata"), JSON.readTree(metadata));
            assertThat(actual.get("id").textValue()).isEqualTo("019a9d5e-7c1a-7b52-9e0d-3f6a1c2b4d5e");
            assertThat(actual.get("ip_address").textValue()).isEqualTo("2001:db8::7");
            assertThat(actual.get("timestamp").textValue()).isEqualTo("2025-09-03T11:15:19.391447Z");
        }
        assertSameJson(found, stored);
        assertThat(log.checkFeed(project.id())).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "0.0.0.0",
                "185.98.122.110",
                "::",
                "::1",
                "2001:db8::7",
                "fe80::1",
                "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
            })
    void anIpAddressInItsCanonicalFormComesBackUnchanged(String address) throws Exception {
        assertThat(append("{\"action\": \"a\", \"ip_address\": \"" + address + "\"}", 201)
                        .<String>path("ip_address"))
                .isEqualTo(address);
        assertThat(project.request().get("/v1/project-logs").<String>path("results[0].ip_address"))
                .isEqualTo(address);
    }

    /** Python and PHP write JSON so by themselves. */
    @Test
    void thirtyThousandEscapedLettersAreStoredWhicheverWayTheyCome() throws Exception {
        String text = "\\u00e9".repeat(30_000);
        String record = "{\"action\": \"a\", \"message\": \"" + text + "\"}";
        append(record, 201);
        project.request()
                .contentType("application/json")
                .body(batch(record))
                .post(BATCH)
                .then()
                .statusCode(201);
        project.wrongRequest()
                .contentType("application/x-ndjson")
                .body(record.getBytes(StandardCharsets.UTF_8))
                .post(IMPORT)
                .then()
                .statusCode(200)
                .body("stored", equalTo(1));
        project.wrongRequest()
                .contentType("application/cloudevents+json; charset=UTF-8")
                .body("{\"specversion\": \"1.0\", \"id\": \"1\", \"source\": \"s\", \"type\": \"a\", \"data\": \""
                        + text + "\"}")
                .post("/v1/cloudevents")
                .then()
                .statusCode(201)
                .body("metadata.data", equalTo("é".repeat(30_000)));
        project.wrongRequest()
                .contentType("application/json")
                .body(
                        ("{\"resourceLogs\": [{\"scopeLogs\": [{\"logRecords\": [{\"timeUnixNano\": 5, \"body\": {\"stringValue\":"
                                        + " \"%s\"}, \"attributes\": [{\"key\": \"audit.action\", \"value\": {\"stringValue\": \"a\"}}]}]}]}]}")
                                .formatted(text))
                .post("/v1/logs")
                .then()
                .statusCode(200)
                .body(equalTo("{}"));
        assertThat(project.request().get(LOGS).<List<String>>path("results.message"))
                .containsExactly("é".repeat(30_000), "é".repeat(30_000), "é".repeat(30_000), null, "é".repeat(30_000));
        assertThat(log.checkFeed(project.id())).isEqualTo(5);
    }

    @Test
    void aLeapSecondIsTheSecondThatFollowsIt() throws Exception {
        // The validator of requests takes no leap second for a date-time.
        for (String time : List.of("1990-12-31T23:59:60Z", "1990-12-31T15:59:60-08:00")) {
            project.wrongRequest()
                    .contentType("application/json")
                    .body("{\"action\": \"a\", \"timestamp\": \"" + time + "\"}")
                    .post(LOGS)
                    .then()
                    .statusCode(201)
                    .body("timestamp", equalTo("1991-01-01T00:00:00.000000Z"));
        }
        assertThat(project.wrongRequest()
                        .get(LOGS + "?start=1990-12-31T23:59:60Z&end=1991-01-01T00:00:00.000001Z")
                        .<List<String>>path("results.action"))
                .hasSize(2);
    }

    /** As applications see their clients that listen on IPv6 alone. */
    @Test
    void anIpv4AddressThatIsMappedToIpv6IsFoundAsTheIpv4Address() throws Exception {
        String body = "{\"id\": \"%s\", \"action\": \"a\", \"ip_address\": \"%s\"}";
        UUID id = UUID.randomUUID();
        assertThat(append(body.formatted(id, "::ffff:10.2.3.4"), 201).<String>path("ip_address"))
                .isEqualTo("10.2.3.4");
        append(body.formatted(id, "10.2.3.4"), 200);
        append(body.formatted(id, "0:0:0:0:0:FFFF:a02:304"), 200);
        append(body.formatted(UUID.randomUUID(), "10.2.3.4"), 201);
        append(body.formatted(UUID.randomUUID(), "::10.2.3.4"), 201);
        for (String filter : List.of(
                "ip_address=10.2.3.4",
                "ip_address=::ffff:10.2.3.4",
                "ip_address=::FFFF:0a02:0304",
                "q=ip:10.2.3.4",
                "q=ip:::ffff:10.2.3.4",
                "q=ip:10.0.0.0/8",
                "q=ip:::ffff:10.0.0.0/104",
                "q=ip:::ffff:10.2.*")) {
            assertThat(project.request().get(LOGS + "?" + filter).<List<String>>path("results.ip_address"))
                    .as(filter)
                    .containsExactly("10.2.3.4", "10.2.3.4");
        }
        assertThat(project.request().get(LOGS + "?ip_address=::10.2.3.4").<List<String>>path("results.ip_address"))
                .containsExactly("::10.2.3.4");
        assertThat(log.checkFeed(project.id())).isEqualTo(3);
    }

    @ParameterizedTest
    @CsvSource({
        "2025-09-03T11:15:19Z, 2025-09-03T11:15:19.000000Z",
        "2025-09-03T11:15:19.5Z, 2025-09-03T11:15:19.500000Z",
        "2025-09-03T11:15:19.123456789Z, 2025-09-03T11:15:19.123456Z",
        "2025-09-03T11:15:19.9999999-05:30, 2025-09-03T16:45:19.999999Z",
        "1969-12-31T23:59:59.999999Z, 1969-12-31T23:59:59.999999Z",
        "0001-01-01T00:00:00Z, 0001-01-01T00:00:00.000000Z",
        "9999-12-31T23:59:59.999999Z, 9999-12-31T23:59:59.999999Z",
        "2024-02-29T23:59:59+23:59, 2024-02-29T00:00:59.000000Z",
    })
    void timestampsAreKeptInUtcToTheMicrosecond(String sent, String kept) throws Exception {
        ExtractableResponse<Response> answer =
                append("{\"action\": \"a\", \"timestamp\": \"" + sent + "\"}", 201, false);
        assertThat(answer.<String>path("timestamp")).isEqualTo(kept);
        assertThat(project.request().get(answer.header("Location")).<String>path("timestamp"))
                .isEqualTo(kept);
        assertThat(log.checkFeed(project.id())).isEqualTo(1);
    }

    @Test
    void aBatchIsAnsweredInItsOrderWithConsecutiveSequenceIds() throws Exception {
        append("{\"action\": \"before\"}", 201);

        ExtractableResponse<Response> answer =
                append(batch("{\"action\": \"a\"}", "{\"action\": \"b\"}", "{\"action\": \"c\"}"), 201);

        assertThat(answer.<List<Integer>>path("results.sequence_id")).containsExactly(2, 3, 4);
        List<String> ids = answer.path("results.id");
        assertThat(answer.header("Location")).endsWith("/v1/project-logs/" + ids.get(0));
        ExtractableResponse<Response> page =
                project.request().get("/v1/project-logs?cursor=1").then().extract();
        assertThat(page.<List<String>>path("results.action")).containsExactly("a", "b", "c");
        assertThat(page.<List<String>>path("results.id")).isEqualTo(ids);
        assertThat(log.checkFeed(project.id())).isEqualTo(4);
    }

    @Test
    void aBatchOfOneIsAnsweredAsABatch() throws Exception {
        assertThat(append(batch("{\"action\": \"a\"}"), 201).<List<Integer>>path("results.sequence_id"))
                .containsExactly(1);
        assertThat(log.checkFeed(project.id())).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(ints = {257, 513, 1_000})
    void manyRecordsAreStoredTogetherInTheirOrder(int count) throws Exception {
        String records = batch(IntStream.range(0, count)
                .mapToObj(i -> "{\"action\": \"a" + i + "\"}")
                .toArray(String[]::new));

        ExtractableResponse<Response> answer = append(records, 201);

        assertThat(answer.<List<Integer>>path("results.sequence_id"))
                .isEqualTo(IntStream.rangeClosed(1, count).boxed().toList());
        ExtractableResponse<Response> page = project.request()
                .get("/v1/project-logs?limit=1000")
                .then()
                .statusCode(200)
                .extract();
        assertThat(page.<List<String>>path("results.action"))
                .isEqualTo(IntStream.range(0, count).mapToObj(i -> "a" + i).toList());
        assertThat(page.<List<String>>path("results.id")).isEqualTo(answer.path("results.id"));
        assertThat(log.checkFeed(project.id())).isEqualTo(count);
    }

    @Test
    void oneBadRecordInABatchKeepsAllFromBeingStored() throws Exception {
        ExtractableResponse<Response> problem = project.wrongRequest()
                .contentType("application/json")
                .body(batch("{\"action\": \"a\"}", """
                        {"action": "b", "outcome": 7}""", "{\"action\": \"c\"}"))
                .post(BATCH)
                .then()
                .statusCode(422)
                .extract();

        assertThat(pointers(problem)).containsExactly("/records/1/outcome");
        assertThat(log.checkFeed(project.id())).isZero();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                """
                        {"id": "%s", "action": "a"}""",
                """
                        {"id": "%s", "action": "a", "timestamp": "2025-09-03T11:15:19.1234567Z", "ip_address": "::FFFF:0a00:1",
                         "actor": {"id": "x"}, "metadata": {"b": 1.0, "a": [1e2, {"d": null, "c": "é"}]}}""",
            })
    void aRecordThatIsSentAgainIsAnsweredAsTheFirstTime(String template) throws Exception {
        String record = template.formatted(UUID.randomUUID());
        ExtractableResponse<Response> first = append(record, 201);
        append("{\"action\": \"between\"}", 201);

        ExtractableResponse<Response> again = append(record, 200);

        assertSameJson(again.asString(), first.asString());
        assertThat(again.header("Location")).isEqualTo(first.header("Location"));
        assertThat(log.checkFeed(project.id())).isEqualTo(2);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                "action": "b"
                "action": "a", "actor": {"id": "2"}
                "action": "a", "actor": {"id": "1", "name": "x"}
                "action": "a", "actor": {"id": "1"}, "outcome": "failure"
                "action": "a", "actor": {"id": "1"}, "message": ""
                "action": "a", "actor": {"id": "1"}, "metadata": {"a": 0}
                "action": "a", "actor": {"id": "1"}, "ip_address": "::1"
                "action": "a", "actor": {"id": "1"}, "timestamp": "2000-01-01T00:00:00Z"
                """)
    void anIdThatIsTakenByOtherContentIsRefused(String fields) throws Exception {
        UUID id = UUID.randomUUID();
        append("{\"id\": \"" + id + "\", \"action\": \"a\", \"actor\": {\"id\": \"1\"}}", 201);

        ExtractableResponse<Response> problem = append("{\"id\": \"" + id + "\", " + fields + "}", 409);

        assertThat(problem.<String>path("type")).isEqualTo("urn:annals:problem:record-id-taken");
        assertThat(pointers(problem)).containsExactly("/id");
        assertThat(log.checkFeed(project.id())).isEqualTo(1);
    }

    @Test
    void aBatchThatIsSentAgainIsAnsweredAsTheFirstTime() throws Exception {
        String records = batch(IntStream.range(0, 600)
                .mapToObj(i -> "{\"id\": \"" + UUID.randomUUID() + "\", \"action\": \"a" + i + "\"}")
                .toArray(String[]::new));
        ExtractableResponse<Response> first = append(records, 201);

        ExtractableResponse<Response> again = append(records, 200);

        assertThat(again.asString()).isEqualTo(first.asString());
        assertThat(log.checkFeed(project.id())).isEqualTo(600);
    }

    @Test
    void aBatchAddsOnlyTheRecordsThatAreNotStored() throws Exception {
        String b = "{\"id\": \"" + UUID.randomUUID() + "\", \"action\": \"b\"}";
        String d = "{\"id\": \"" + UUID.randomUUID() + "\", \"action\": \"d\"}";
        append(d, 201);
        append(b, 201);

        ExtractableResponse<Response> answer =
                append(batch("{\"action\": \"a\"}", b, "{\"action\": \"c\"}", d, "{\"action\": \"e\"}"), 201);

        assertThat(answer.<List<Integer>>path("results.sequence_id")).containsExactly(3, 2, 4, 1, 5);
        assertThat(project.request().get("/v1/project-logs").<List<String>>path("results.action"))
                .containsExactly("d", "b", "a", "c", "e");
        assertThat(log.checkFeed(project.id())).isEqualTo(5);
    }

    @Test
    void aBatchWithTakenIdsIsRefusedWholeAndNamesEach() throws Exception {
        UUID one = UUID.randomUUID();
        UUID two = UUID.randomUUID();
        append(
                batch("{\"id\": \"" + one + "\", \"action\": \"a\"}", "{\"id\": \"" + two + "\", \"action\": \"b\"}"),
                201);

        ExtractableResponse<Response> problem = append(
                batch(
                        "{\"action\": \"new\"}",
                        "{\"id\": \"" + two + "\", \"action\": \"x\"}",
                        "{\"id\": \"" + one + "\", \"action\": \"x\"}"),
                409);

        assertThat(pointers(problem)).containsExactly("/records/1/id", "/records/2/id");
        assertThat(log.checkFeed(project.id())).isEqualTo(2);
    }

    @Test
    void anIdMayBeUsedInEveryProject() throws Exception {
        AuditLogFixture.Project other = log.newProject();
        String record = "{\"id\": \"" + UUID.randomUUID() + "\", \"action\": \"%s\"}";
        append(record.formatted("here"), 201);

        other.request()
                .contentType("application/json")
                .body(record.formatted("there"))
                .post("/v1/project-logs")
                .then()
                .statusCode(201);

        assertThat(log.checkFeed(project.id())).isEqualTo(1);
        assertThat(log.checkFeed(other.id())).isEqualTo(1);
    }

    @Test
    void theSameRecordSentByManyAtTheSameTimeIsStoredOnce() throws Exception {
        String record = "{\"id\": \"" + UUID.randomUUID() + "\", \"action\": \"a\"}";

        List<ExtractableResponse<Response>> answers = atTheSameTime(16, client -> List.of(send(record)));

        assertThat(answers).extracting(ExtractableResponse::statusCode).containsOnlyOnce(201);
        assertThat(answers).extracting(ExtractableResponse::statusCode).containsOnly(200, 201);
        for (ExtractableResponse<Response> answer : answers) {
            assertSameJson(answer.asString(), answers.get(0).asString());
        }
        assertThat(log.checkFeed(project.id())).isEqualTo(1);
    }

    @Test
    void oneOfSeveralRecordsWithOneIdSentAtTheSameTimeIsStored() throws Exception {
        UUID id = UUID.randomUUID();

        List<ExtractableResponse<Response>> answers =
                atTheSameTime(16, client -> List.of(send("{\"id\": \"" + id + "\", \"action\": \"a" + client + "\"}")));

        assertThat(answers).extracting(ExtractableResponse::statusCode).containsOnlyOnce(201);
        assertThat(answers).extracting(ExtractableResponse::statusCode).containsOnly(201, 409);
        assertThat(log.checkFeed(project.id())).isEqualTo(1);
    }

    @Test
    void manyClientsAtTheSameTimeLeaveSequenceIdsWithoutAGap() throws Exception {
        List<ExtractableResponse<Response>> answers = atTheSameTime(64, client -> {
            List<ExtractableResponse<Response>> own = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                own.add(send(batch("{\"action\": \"a\"}", "{\"action\": \"b\"}", "{\"action\": \"c\"}")));
            }
            return own;
        });

        Set<Long> sequenceIds = new HashSet<>();
        for (ExtractableResponse<Response> answer : answers) {
            assertThat(answer.statusCode()).isEqualTo(201);
            List<Long> places = new ArrayList<>();
            tree(answer)
                    .get("results")
                    .forEach(record -> places.add(record.get("sequence_id").longValue()));
            assertThat(places).containsExactly(places.get(0), places.get(0) + 1, places.get(0) + 2);
            sequenceIds.addAll(places);
        }
        assertThat(sequenceIds)
                .isEqualTo(LongStream.rangeClosed(1, 64 * 4 * 3).boxed().collect(Collectors.toSet()));
        assertThat(log.checkFeed(project.id())).isEqualTo(64 * 4 * 3);
    }

    private interface Client {
        List<ExtractableResponse<Response>> send(int number);
    }

    private static List<ExtractableResponse<Response>> atTheSameTime(int clients, Client client) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(clients);
        try {
            CyclicBarrier start = new CyclicBarrier(clients);
            List<Callable<List<ExtractableResponse<Response>>>> calls = new ArrayList<>();
            for (int i = 0; i < clients; i++) {
                int number = i;
                calls.add(() -> {
                    start.await(30, TimeUnit.SECONDS);
                    return client.send(number);
                });
            }
            List<ExtractableResponse<Response>> answers = new ArrayList<>();
            for (Future<List<ExtractableResponse<Response>>> answer : threads.invokeAll(calls)) {
                answers.addAll(answer.get());
            }
            return answers;
        } finally {
            threads.shutdownNow();
        }
    }

    private ExtractableResponse<Response> append(String body, int status) {
        return append(body, status, true);
    }

    /** @param asInContract false for what the service takes although the contract's words are narrower */
    private ExtractableResponse<Response> append(String body, int status, boolean asInContract) {
        return (asInContract ? project.request() : project.wrongRequest())
                .contentType("application/json")
                .body(body.getBytes(StandardCharsets.UTF_8))
                .post(pathOf(body))
                .then()
                .statusCode(status)
                .extract();
    }

    private ExtractableResponse<Response> send(String body) {
        return project.request()
                .contentType("application/json")
                .body(body)
                .post(pathOf(body))
                .then()
                .extract();
    }

    private static JsonNode tree(ExtractableResponse<Response> answer) throws Exception {
        return JSON.readTree(answer.asByteArray());
    }

    private static void assertSameJson(String actual, String expected) throws Exception {
        assertSameJson(JSON.readTree(actual), JSON.readTree(expected));
    }

    /** PostgreSQL keeps the values of metadata, and neither the order of its keys nor the spelling of its numbers. */
    private static void assertSameJson(JsonNode actual, JsonNode expected) {
        boolean same = actual.equals(
                (one, other) -> one.isNumber() && other.isNumber()
                        ? one.decimalValue().compareTo(other.decimalValue())
                        : one.equals(other) ? 0 : 1,
                expected);
        assertThat(same).as("%s is %s", actual, expected).isTrue();
    }
}
