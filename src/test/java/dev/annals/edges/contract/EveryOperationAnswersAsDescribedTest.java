package dev.annals.edges.contract;

import static dev.annals.ProblemAssertions.assertProblem;
import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.ValidatableResponse;
import io.restassured.specification.RequestSpecification;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A walk through the API as a client that was written from openapi.yaml: requests and answers are held against it. */
@QuarkusTest
class EveryOperationAnswersAsDescribedTest {
    private static final String LOGS = AuditLogFixture.LOGS;
    private static final String BATCH = AuditLogFixture.BATCH;

    private final AuditLogFixture log = new AuditLogFixture();

    @Test
    void projectsAndTokensAreListedAndChanged() {
        String project = "/v1/projects/" + log.newProject().id();
        client(log.newToken("annals", "audit")).get("/v1/projects").then().statusCode(200);
        client(log.newProject().token()).get("/v1/whoami").then().statusCode(200);
        client(AuditLogFixture.ADMIN_TOKEN).get(project).then().statusCode(200);
        json(admin())
                .body(Map.of("name", "renamed " + UUID.randomUUID()))
                .patch(project)
                .then()
                .statusCode(200);
        String token = project + "/tokens/"
                + client(AuditLogFixture.ADMIN_TOKEN)
                        .get(project + "/tokens")
                        .then()
                        .statusCode(200)
                        .extract()
                        .path("tokens[0].id");
        json(admin()).body(Map.of()).post(token + "/rotate").then().statusCode(201);
        assertRefused(json(admin()).body(Map.of()).post(token + "/rotate").then(), 409, "token-ended");
        admin().delete(token).then().statusCode(204);
        admin().post(project + "/close").then().statusCode(200);
    }

    @Test
    void aProjectATokenAndARecordAreMadeAndRead() {
        String project = json(admin())
                .body(Map.of("name", "walk " + UUID.randomUUID()))
                .post("/v1/projects")
                .then()
                .statusCode(201)
                .extract()
                .path("id");
        String token = json(admin())
                .body(Map.of("scopes", List.of("write", "read"), "description", "of a test"))
                .post("/v1/projects/" + project + "/tokens")
                .then()
                .statusCode(201)
                .extract()
                .path("token");
        Map<String, Object> sent = record();

        ValidatableResponse stored =
                json(client(token)).body(sent).post(LOGS).then().statusCode(201);

        String id = stored.extract().path("id");
        assertThat(stored.extract().header("Location")).endsWith(LOGS + "/" + id);
        Map<String, Object> read = client(token)
                .get(LOGS + "/" + id)
                .then()
                .statusCode(200)
                .extract()
                .path("");
        assertThat(read)
                .containsAllEntriesOf(sent)
                .isEqualTo(stored.extract().path(""))
                .isEqualTo(
                        client(token).get(LOGS).then().statusCode(200).extract().path("results[0]"));
    }

    @Test
    void aBatchIsAnsweredWithPlacesAndTheSameAgainWith200() {
        String token = log.newProject().token();
        List<Map<String, Object>> sent = List.of(record(), record());

        ValidatableResponse first = json(client(token))
                .body(Map.of("records", sent))
                .post(BATCH)
                .then()
                .statusCode(201);
        ValidatableResponse again = json(client(token))
                .body(Map.of("records", sent))
                .post(BATCH)
                .then()
                .statusCode(200);

        assertThat(first.extract().<List<Integer>>path("results.sequence_id")).containsExactly(1, 2);
        assertThat(first.extract().<List<String>>path("results.id"))
                .containsExactly(
                        (String) sent.get(0).get("id"), (String) sent.get(1).get("id"));
        assertThat(again.extract().asString()).isEqualTo(first.extract().asString());
    }

    @Test
    void aRedactionIsAnsweredWithTheRecord() {
        String token = log.newProject("read", "write", "redact").token();
        Map<String, Object> sent = record();
        json(client(token)).body(sent).post(LOGS).then().statusCode(201);
        ValidatableResponse redacted = json(client(token))
                .body(Map.of("fields", List.of("message", "metadata"), "reason", "of a test"))
                .post(LOGS + "/" + sent.get("id") + "/redactions")
                .then()
                .statusCode(200);
        assertThat(redacted.extract().<Map<String, String>>path("redacted")).containsOnlyKeys("message", "metadata");
    }

    @Test
    void anImportIsAnsweredWithASummary() {
        String token = log.newProject().token();
        ValidatableResponse summary = client(token)
                .contentType("application/x-ndjson")
                .body("{\"action\": \"a\"}\nnone\n".getBytes(StandardCharsets.UTF_8))
                .post(AuditLogFixture.IMPORT)
                .then()
                .statusCode(200);
        assertThat(summary.extract().<Integer>path("stored")).isEqualTo(1);
        assertThat(summary.extract().<List<Integer>>path("refusals.line")).containsExactly(2);
    }

    @Test
    void pagesLeadThroughTheFeedBothWaysAndOnToNewRecords() {
        String token = log.newProject().token();
        json(client(token))
                .body(Map.of("records", List.of(record(), record(), record())))
                .post(BATCH)
                .then()
                .statusCode(201);

        ValidatableResponse newest = page(token, LOGS + "?order=desc&limit=2&outcome=success");
        ValidatableResponse oldest = page(token, newest.extract().path("next"));
        json(client(token)).body(record()).post(LOGS).then().statusCode(201);
        ValidatableResponse since = page(token, newest.extract().path("poll_more"));
        ValidatableResponse nothing = page(token, since.extract().path("poll_more"));

        assertThat(places(newest)).containsExactly(3, 2);
        assertThat(places(oldest)).containsExactly(1);
        assertThat(oldest.extract().<String>path("next")).isNull();
        assertThat(places(since)).containsExactly(4);
        assertThat(places(nothing)).isEmpty();
        assertThat(places(page(token, oldest.extract().path("poll_more")))).containsExactly(4);
        assertThat(newest.extract().header("Link"))
                .isEqualTo("<%s>; rel=\"next\", <%s>; rel=\"poll-more\""
                        .formatted(
                                newest.extract().<String>path("next"),
                                newest.extract().<String>path("poll_more")));
    }

    @ParameterizedTest
    @CsvSource({
        "limit=0, 400, invalid-parameter",
        "limit=1001, 400, invalid-parameter",
        "limit=1&limit=2, 400, invalid-parameter",
        "colour=red, 400, invalid-parameter",
        "start=yesterday, 400, invalid-parameter",
        "order=sideways, 400, invalid-parameter",
        "cursor=-1, 400, invalid-cursor",
        "cursor=garbage, 400, invalid-cursor",
        "cursor=1000000, 409, feed-rewound",
        "cursor=1-00000000, 409, feed-rewound",
    })
    void aPageThatCannotBeHadIsAProblem(String query, int status, String slug) {
        String token = log.newProject().token();
        json(client(token)).body(record()).post(LOGS).then().statusCode(201);
        assertRefused(
                given().auth()
                        .preemptive()
                        .oauth2(token)
                        .get(LOGS + "?" + query)
                        .then(),
                status,
                slug);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                { | 400 | malformed-json
                {"action": "a", "action": "b"} | 422 | invalid-record
                {"action": 1} | 422 | invalid-record
                {"action": "a", "colour": 1} | 422 | invalid-record
                [] | 422 | invalid-record
                3 | 422 | invalid-record
                """)
    void aRecordThatCannotBeStoredIsAProblem(String body, int status, String slug) {
        String token = log.newProject().token();
        assertRefused(
                given().auth()
                        .preemptive()
                        .oauth2(token)
                        .contentType("application/json")
                        .body(body)
                        .post(LOGS)
                        .then(),
                status,
                slug);
    }

    @Test
    void everyOtherRefusalIsAProblemToo() {
        AuditLogFixture.Project project = log.newProject();
        Map<String, Object> record = record();
        json(client(project.token())).body(record).post(LOGS).then().statusCode(201);
        assertRefused(given().get(LOGS).then(), 401, "unauthorized");
        assertRefused(client("annals_nobody").get(LOGS).then(), 401, "unauthorized");
        assertRefused(admin().delete("/v1/sequences/none").then(), 403, "forbidden");
        assertRefused(client(log.newToken(project.id(), "write")).get(LOGS).then(), 403, "forbidden");
        assertRefused(
                json(client(project.token()))
                        .body(Map.of("name", "x"))
                        .post("/v1/projects")
                        .then(),
                403,
                "forbidden");
        assertRefused(
                client(log.newProject().token())
                        .get(LOGS + "/" + record.get("id"))
                        .then(),
                404,
                "not-found");
        assertRefused(
                json(admin())
                        .body(Map.of("scopes", List.of("read")))
                        .post("/v1/projects/" + UUID.randomUUID() + "/tokens")
                        .then(),
                404,
                "not-found");
        assertRefused(
                bearer(AuditLogFixture.ADMIN_TOKEN)
                        .post("/v1/projections/nothing/rebuild")
                        .then(),
                404,
                "not-found");
        assertRefused(bearer(project.token()).get(LOGS + "/stream?cursor=7").then(), 409, "feed-rewound");
        assertRefused(given().delete(LOGS).then(), 405, "method-not-allowed");
        assertRefused(bearer(project.token()).accept("text/html").get(LOGS).then(), 406, "not-acceptable");
        record.put("action", "another");
        assertRefused(json(client(project.token())).body(record).post(LOGS).then(), 409, "record-id-taken");
        assertRefused(
                bearer(project.token())
                        .contentType("text/plain")
                        .body("x")
                        .post(LOGS)
                        .then(),
                415,
                "unsupported-media-type");
        assertRefused(
                bearer(AuditLogFixture.ADMIN_TOKEN)
                        .contentType("application/json")
                        .body("{\"name\": \" \"}")
                        .post("/v1/projects")
                        .then(),
                422,
                "invalid-body");
        assertRefused(
                bearer(project.token())
                        .contentType("application/json")
                        .body(AuditLogFixture.batch("{\"action\": \"a\"},".repeat(1000) + "{\"action\": \"a\"}"))
                        .post(BATCH)
                        .then(),
                422,
                "too-many-records");
    }

    private static void assertRefused(ValidatableResponse answer, int status, String slug) {
        assertProblem(answer.extract(), status, slug);
    }

    private static Map<String, Object> record() {
        return new HashMap<>(Map.of(
                "id", UUID.randomUUID().toString(),
                "action", "volume_create",
                "actor", Map.of("type", "user", "id", "u-1", "name", "jane@example.org"),
                "subject", Map.of("name", "cache"),
                "outcome", "success",
                "ip_address", "2001:db8::7",
                "message", "Volume 'cache' has been created",
                "timestamp", "2025-09-03T11:15:19.391447Z",
                "metadata", Map.of("size", 3, "tags", List.of("a", "b"))));
    }

    private static ValidatableResponse page(String token, String url) {
        return client(token).urlEncodingEnabled(false).get(url).then().statusCode(200);
    }

    private static List<Integer> places(ValidatableResponse page) {
        return page.extract().path("results.sequence_id");
    }

    private static RequestSpecification json(RequestSpecification request) {
        return request.contentType("application/json");
    }

    private static RequestSpecification admin() {
        return client(AuditLogFixture.ADMIN_TOKEN);
    }

    private static RequestSpecification client(String token) {
        return bearer(token).filter(ContractFilter.ofRequestsAndAnswers());
    }

    private static RequestSpecification bearer(String token) {
        return given().auth().preemptive().oauth2(token);
    }
}
