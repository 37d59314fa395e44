package dev.annals.edges.contract;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasItem;
import static org.hamcrest.Matchers.hasSize;
import static org.hamcrest.Matchers.notNullValue;
import static org.hamcrest.Matchers.nullValue;
import static org.hamcrest.Matchers.startsWith;

import dev.annals.AuditLogFixture;
import dev.annals.OneByOne;
import dev.annals.ProjectTest;
import dev.annals.ServiceProcess;
import dev.annals.access.look.LookTest;
import dev.annals.tools.embedded.TestDatabase;
import io.restassured.RestAssured;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * The packaged service, or the native executable, answers each operation as the contract says: whether the package has
 * all that it needs. How the operations behave is told by the tests of the started application.
 */
@OneByOne
class EveryOperationAnswersAsDescribedIT extends ProjectTest {

    private static final String LOGS = "/v1/project-logs";

    private static Instant start;
    private static ServiceProcess service;

    // As Quarkus and CheckEveryAnswer do for the tests of the started application.
    @BeforeAll
    static void startTheServiceAndCheckEveryAnswer() throws Exception {
        start = Instant.now();
        service = ServiceProcess.start(Map.of(
                        "ANNALS_DATABASE_URL",
                        TestDatabase.url().withPassword(),
                        "ANNALS_ADMIN_TOKEN",
                        AuditLogFixture.ADMIN_TOKEN,
                        "ANNALS_LOG_KEY",
                        "annals-log-key/1:" + "A".repeat(43),
                        "ANNALS_STREAMS_KEY",
                        AuditLogFixture.STREAMS_KEY,
                        "ANNALS_STREAMS_ALLOWED_HOSTS",
                        "127.0.0.1"))
                .awaitListening();
        RestAssured.port = service.uri("").getPort();
        RestAssured.replaceFiltersWith(ContractFilter.ofAnswers());
    }

    @AfterAll
    static void everyOperationWasCalled() {
        RestAssured.reset();
        service.close();
        assertThat(CalledOperations.missingSince(start))
                .as("operations that this class did not call")
                .isEmpty();
    }

    @Test
    void recordsAreAppendedReadCountedAndExported() {
        String id = UUID.randomUUID().toString();
        String record = """
                {
                  "id": "%s",
                  "action": "volume_create",
                  "actor": {"type": "user", "id": "u-1", "name": "jane@example.org"},
                  "outcome": "success",
                  "ip_address": "2001:db8::7",
                  "message": "Volume 'cache' has been created",
                  "timestamp": "2025-09-03T11:15:19.391447Z",
                  "metadata": {"size": 3, "tags": ["a", "b"]}
                }""".formatted(id);
        json(project.request(), record).post(LOGS).then().statusCode(201).header("Location", containsString(id));
        json(project.request(), record).post(LOGS).then().statusCode(200);
        json(project.request(), """
                {"records": [{"action": "a"}, {"action": "b"}]}""").post(LOGS + "/batch").then().statusCode(201);
        project.wrongRequest()
                .contentType("application/x-ndjson")
                .body("{\"action\": \"c\"}\n{\"action\": \"d\"}\n".getBytes(StandardCharsets.UTF_8))
                .post(LOGS + "/import")
                .then()
                .statusCode(200)
                .body("stored", equalTo(2));

        String event = "{\"specversion\": \"1.0\", \"id\": \"1\", \"source\": \"s\", \"type\": \"%s\"}";
        project.request()
                .contentType("application/cloudevents+json; charset=UTF-8")
                .body(event.formatted("d").getBytes(StandardCharsets.UTF_8))
                .post("/v1/cloudevents")
                .then()
                .statusCode(201);
        project.request()
                .contentType("application/cloudevents-batch+json; charset=UTF-8")
                .body(("[" + event.formatted("d") + "]").getBytes(StandardCharsets.UTF_8))
                .post("/v1/cloudevents/batch")
                .then()
                .statusCode(200);
        json(project.request(), """
                {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"timeUnixNano": "5", "attributes": [
                  {"key": "audit.action", "value": {"stringValue": "d"}}]}]}]}]}""").post("/v1/logs").then().statusCode(200);

        project.request().get(LOGS + "/" + id).then().statusCode(200).body("sequence_id", equalTo(1));
        project.request().get(LOGS + "?limit=2").then().statusCode(200).body("results", hasSize(2));
        project.request().get(LOGS + "?action=d&order=desc").then().body("results.sequence_id[0]", equalTo(7));
        project.request().get(LOGS + "/statistics").then().statusCode(200);
        project.request()
                .get(LOGS + "/suggestions?field=action&prefix=d")
                .then()
                .statusCode(200)
                .body("field", equalTo("action"));
        project.request().get(LOGS + "/facets?q=created").then().statusCode(200).body("complete", equalTo(true));
        for (String format : new String[] {"ndjson", "csv", "cloudevents", "ocsf"}) {
            assertThat(project.request()
                            .get(LOGS + "/export?format=" + format)
                            .then()
                            .statusCode(200)
                            .extract()
                            .asString())
                    .contains("volume_create");
        }
    }

    @Test
    void theFeedIsALogThatCanBeVerified() {
        String id = json(project.request(), "{\"action\": \"a\"}")
                .post(LOGS)
                .then()
                .statusCode(201)
                .extract()
                .path("id");
        project.request().get(LOGS + "/" + id + "/proof").then().statusCode(200);
        project.request().get(LOGS + "/log").then().statusCode(200).body("state", equalTo("signed"));
        project.request().get(LOGS + "/log/1/checkpoint").then().statusCode(200);
        project.wrongRequest().get(LOGS + "/log/1/tile/0/000.p/1").then().statusCode(200);
        project.request().get(LOGS + "/log/consistency?from=1&to=1").then().statusCode(200);
    }

    @Test
    void aFieldIsRedacted() {
        String id = json(project.request(), "{\"action\": \"a\", \"message\": \"too much\"}")
                .post(LOGS)
                .then()
                .statusCode(201)
                .extract()
                .path("id");
        RequestSpecification redacting =
                given().auth().preemptive().oauth2(log.newToken(project.id(), "read", "redact"));
        json(redacting, "{\"fields\": [\"message\"], \"reason\": \"By request\"}")
                .post(LOGS + "/" + id + "/redactions")
                .then()
                .statusCode(200)
                .body("message", equalTo(null));
    }

    @Test
    void anImpossibleRequestIsAProblem() {
        json(project.wrongRequest(), "{\"action\": 1}").post(LOGS).then().statusCode(422);
        json(project.wrongRequest(), "{").post(LOGS).then().statusCode(400);
        project.wrongRequest().get(LOGS + "?cursor=7").then().statusCode(409);
        project.wrongRequest().get(LOGS + "/stream?cursor=7").then().statusCode(409);
        project.wrongRequest().get(LOGS + "/" + UUID.randomUUID()).then().statusCode(404);
        project.wrongRequest().delete(LOGS).then().statusCode(405);
        given().get(LOGS).then().statusCode(401);
        admin().delete("/v1/sequences/none").then().statusCode(403);
    }

    @Test
    void aSequenceIsDefinedReadDrawnFromAndDeleted() {
        String sequence = "/v1/sequences/invoices";
        json(project.request(), "{\"kind\": \"SYNCHRONOUS\"}")
                .put(sequence)
                .then()
                .statusCode(201);
        project.request().get(sequence).then().statusCode(200).body("kind", equalTo("SYNCHRONOUS"));
        project.request()
                .post(sequence + "/values?count=3")
                .then()
                .statusCode(200)
                .body("values", hasSize(3));
        project.request().delete(sequence).then().statusCode(204);
        project.wrongRequest().get(sequence).then().statusCode(410);
    }

    @Test
    void aFeedIsDeliveredElsewhere() {
        RequestSpecification streaming = given().auth().preemptive().oauth2(log.newToken(project.id(), "stream"));
        String stream = "/v1/streams/nobody";
        String sink = "{\"sink\": {\"type\": \"webhook\", \"url\": \"http://127.0.0.1:9/\", \"secret\": \"whsec_%s\"}}";
        json(streaming, sink.formatted("A".repeat(32))).put(stream).then().statusCode(201);
        json(streaming, sink.formatted("short")).put(stream).then().statusCode(422);
        streaming.get("/v1/streams").then().statusCode(200).body("streams", hasSize(1));
        streaming.post(stream + "/test").then().statusCode(200).body("outcome", equalTo("failed"));
        streaming.post(stream + "/pause").then().statusCode(200).body("state", equalTo("paused"));
        json(streaming, "{\"cursor\": \"0\"}").post(stream + "/rewind").then().statusCode(200);
        streaming.post(stream + "/resume").then().statusCode(200).body("state", equalTo("active"));
        streaming.get(stream).then().statusCode(200).body("cursor", equalTo("0"));
        streaming.get(stream + "/dead-letters").then().statusCode(200).body("dead_letters", hasSize(0));
        streaming.get(stream + "/feeds").then().statusCode(200).body("feeds", hasSize(1));
        streaming.delete(stream).then().statusCode(204);
    }

    @Test
    void tooManyRecordsAreAnEvent() {
        RequestSpecification alerting = given().auth().preemptive().oauth2(log.newToken(project.id(), "stream"));
        String alert = "/v1/alerts/denied";
        String body = "{\"q\": \"outcome:denied\", \"threshold\": 20, \"interval_seconds\": %d}";
        json(alerting, body.formatted(300)).put(alert).then().statusCode(201);
        json(alerting, body.formatted(1)).put(alert).then().statusCode(422);
        alerting.get("/v1/alerts").then().statusCode(200).body("alerts", hasSize(1));
        alerting.get(alert).then().statusCode(200).body("state", equalTo("active"));
        alerting.delete(alert).then().statusCode(204);
    }

    @Test
    void readersShareViewsAndSeeTheNamesOfRecorders() {
        RequestSpecification saving = given().auth().preemptive().oauth2(log.newToken(project.id(), "stream"));
        RequestSpecification reading = given().auth().preemptive().oauth2(log.newToken(project.id(), "read"));
        String view = "/v1/views/Refused%20logins";
        json(saving, "{\"filter\": {\"q\": \"outcome:denied\"}, \"last\": \"24h\"}")
                .put(view)
                .then()
                .statusCode(201);
        json(saving, "{\"filter\": {\"q\": \"(\"}}").put(view).then().statusCode(422);
        reading.get("/v1/views").then().statusCode(200).body("views", hasSize(1));
        saving.delete(view).then().statusCode(204);
        reading.get("/v1/recorders?recorded_by=token:" + UUID.randomUUID())
                .then()
                .statusCode(200)
                .body("recorders", hasSize(0));
        reading.get("/v1/recorders?recorded_by=x").then().statusCode(400);
    }

    @Test
    void aLinkShowsSomeRecords() {
        RequestSpecification linking = given().auth().preemptive().oauth2(log.newToken(project.id(), "link"));
        String url = json(linking, "{\"subject_id\": \"s-1\", \"expires_in_seconds\": 60}")
                .post("/v1/viewer-links")
                .then()
                .statusCode(201)
                .extract()
                .path("url");
        given().auth()
                .preemptive()
                .oauth2(url.substring(url.indexOf("#token=") + 7))
                .get(LOGS)
                .then()
                .statusCode(200)
                .body("results", hasSize(0));
        given().auth()
                .preemptive()
                .oauth2(url.substring(url.indexOf("#token=") + 7))
                .get("/v1/look")
                .then()
                .statusCode(200)
                .body("capabilities", hasSize(2));
    }

    @Test
    void whatIsDerivedIsDerivedAnew() {
        admin().post("/v1/projections/statistics/rebuild").then().statusCode(202);
    }

    @Test
    void projectsAndTokensAreAdministered() {
        String name = "walked through " + UUID.randomUUID();
        String id = json(admin(), "{\"name\": \"" + name + "\"}")
                .post("/v1/projects")
                .then()
                .statusCode(201)
                .extract()
                .path("id");
        admin().get("/v1/projects?limit=1").then().statusCode(200).body("projects", hasSize(1));
        admin().get("/v1/projects/" + id).then().statusCode(200).body("name", equalTo(name));
        json(admin(), "{\"name\": \"" + name + " on\"}")
                .patch("/v1/projects/" + id)
                .then()
                .statusCode(200)
                .body("name", equalTo(name + " on"));
        json(admin(), "{\"name\": \"annals\"}")
                .patch("/v1/projects/" + id)
                .then()
                .statusCode(409);
        Response token = json(admin(), """
                {"scopes": ["read"], "description": "a reader", "expires_at": "2999-01-01T00:00:00Z",
                 "allowed_addresses": ["127.0.0.0/8", "::1"]}""").post("/v1/projects/" + id + "/tokens");
        token.then().statusCode(201);
        String path = "/v1/projects/" + id + "/tokens/" + token.path("id");
        given().auth()
                .preemptive()
                .oauth2(token.path("token"))
                .get("/v1/whoami")
                .then()
                .statusCode(200)
                .body("token_id", equalTo(token.path("id")))
                .body("scopes", equalTo(List.of("read")));
        json(admin(), "{\"records_per_second\": 1000, \"streams\": 3}")
                .put("/v1/projects/" + id + "/limits")
                .then()
                .statusCode(200)
                .body("limits.streams", equalTo(3));
        json(admin(), "{\"requests_per_second\": 1}")
                .put(path + "/limits")
                .then()
                .statusCode(200)
                .body("limits.requests_per_second", equalTo(1));
        json(admin(), "{\"streams\": -1}").put(path + "/limits").then().statusCode(422);
        json(admin(), "{}")
                .post(path + "/rotate")
                .then()
                .statusCode(201)
                .body("limits.requests_per_second", equalTo(1));
        json(admin(), "{}").post(path + "/rotate").then().statusCode(409);
        admin().get("/v1/projects/" + id + "/tokens").then().statusCode(200).body("tokens", hasSize(2));
        admin().delete(path).then().statusCode(204);
        String archives = "/v1/projects/" + id + "/archives";
        json(
                        admin(),
                        "{\"first_sequence_id\": 1, \"last_sequence_id\": 2, \"file_name\": \"none\", \"bytes\": 1, \"sha256\": \""
                                + "0".repeat(64) + "\"}")
                .post(archives)
                .then()
                .statusCode(409);
        admin().get(archives).then().statusCode(200).body("archives", hasSize(0));
        String actions = "/v1/projects/" + id + "/actions";
        json(admin(), "{\"unknown_actions\": \"mark\", \"actions\": [{\"name\": \"a\"}]}")
                .put(actions)
                .then()
                .statusCode(200);
        json(admin(), "{\"title\": \"A\"}").put(actions + "/a").then().statusCode(200);
        admin().get(actions + "/a").then().statusCode(200).body("title", equalTo("A"));
        admin().get(actions).then().statusCode(200).body("actions", hasSize(1));
        given().auth()
                .preemptive()
                .oauth2(log.newToken(UUID.fromString(id), "read"))
                .get("/v1/actions")
                .then()
                .statusCode(200)
                .body("actions", hasSize(1));
        admin().delete(actions + "/a").then().statusCode(204);
        String holds = "/v1/projects/" + id + "/holds";
        String hold = json(admin(), "{\"actor_id\": \"u-1\", \"reason\": \"Case 12\"}")
                .post(holds)
                .then()
                .statusCode(201)
                .extract()
                .path("id");
        admin().get(holds).then().statusCode(200).body("holds", hasSize(1));
        json(admin(), "{\"reason\": \"It is closed\"}")
                .post(holds + "/" + hold + "/lift")
                .then()
                .statusCode(200)
                .body("lifted_at", notNullValue());
        String look = "/v1/projects/" + id + "/look";
        json(
                        admin(),
                        "{\"name\": \"Shop\", \"colour\": \"#1b57c4\", \"logo\": \"" + LookTest.PNG
                                + "\", \"embedders\": [\"https://app.example.org\"]}")
                .put(look)
                .then()
                .statusCode(200);
        admin().get(look).then().statusCode(200).body("colour", equalTo("#1b57c4"));
        String grants = "/v1/projects/" + id + "/grants";
        String grant = json(
                        admin(),
                        "{\"issuer\": \"https://login.example.org\", \"claim\": \"groups\", \"value\": \"g\", \"scopes\": [\"read\"]}")
                .post(grants)
                .then()
                .statusCode(201)
                .extract()
                .path("id");
        json(admin(), "{\"claim\": \"groups\", \"value\": \"g\", \"scopes\": [\"read\"]}")
                .post(grants)
                .then()
                .statusCode(422);
        admin().delete(grants + "/" + grant).then().statusCode(204);
        admin().get(grants).then().statusCode(200).body("grants.revoked_at", hasSize(1));
        admin().get("/v1/identities").then().statusCode(200).body("identities", hasSize(0));
        admin().get("/v1/databases").then().statusCode(200).body("databases.name", hasItem("main"));
        admin().get("/v1/databases?limit=1").then().statusCode(400);
        json(admin(), "{\"name\": \"elsewhere\", \"database\": \"west\"}")
                .post("/v1/projects")
                .then()
                .statusCode(422)
                .body("errors.detail", hasItem("It must be one of main."));
        admin().get("/v1/projects/" + id + "/move").then().statusCode(404);
        json(admin(), "{\"database\": \"main\"}")
                .post("/v1/projects/" + id + "/move")
                .then()
                .statusCode(409);
        admin().delete("/v1/projects/" + id + "/move").then().statusCode(404);
        admin().get("/v1/whoami/projects").then().statusCode(200).body("projects.name", hasItem("annals"));
        admin().post("/v1/projects/" + id + "/close").then().statusCode(200).body("closed_at", notNullValue());
        admin().get("/v1/projects/" + UUID.randomUUID()).then().statusCode(404);
    }

    @Test
    void theContractAndTheViewerAreInThePackage() throws Exception {
        assertThat(given().get("/q/openapi").then().statusCode(200).extract().asByteArray())
                .isEqualTo(Files.readAllBytes(Path.of("openapi.yaml")));
        given().get("/").then().statusCode(200).contentType(startsWith("text/html"));
        given().get("/q/health/ready").then().statusCode(200).body("status", equalTo("UP"));
    }

    @Test
    void withoutAProviderSigningInIsRefused() {
        given().get("/v1/session").then().statusCode(200).body("provider", nullValue());
        given().get("/v1/session/sign-in").then().statusCode(404);
        given().get("/v1/session/callback?code=c&state=s").then().statusCode(404);
        given().delete("/v1/session").then().statusCode(204);
    }

    private static RequestSpecification json(RequestSpecification request, String body) {
        return request.contentType("application/json").body(body);
    }

    private static RequestSpecification admin() {
        return given().auth().preemptive().oauth2(AuditLogFixture.ADMIN_TOKEN);
    }
}
