package dev.annals.derived.alert;

import static dev.annals.ProblemAssertions.assertProblem;
import static dev.annals.ProblemAssertions.pointers;
import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasSize;
import static org.hamcrest.Matchers.nullValue;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.Response;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Alerts over HTTP: definitions, rights and events. */
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
class AlertTest {

    private static final String ALERT = "/v1/alerts/denied";
    private static final String DENIED = alert("outcome:denied", 1, 86_400);

    private final AuditLogFixture log = new AuditLogFixture();
    private Project project;

    @BeforeEach
    void makeAProject() {
        project = log.newProject("read", "write", "redact", "stream");
    }

    @AfterEach
    void theFeedIsWhole() throws Exception {
        project.wrongRequest().delete(ALERT);
        log.checkFeed(project.id());
        assertThat(log.texts("select finding from annals.administration_differences()"))
                .isEmpty();
    }

    private static String alert(String q, long threshold, int seconds) {
        return "{\"q\": \"" + q.replace("\\", "\\\\").replace("\"", "\\\"") + "\", \"threshold\": " + threshold
                + ", \"interval_seconds\": " + seconds + "}";
    }

    private Response put(String path, String body) {
        return project.wrongRequest().contentType("application/json").body(body).put(path);
    }

    private Response append(String outcome) {
        return project.request()
                .contentType("application/json")
                .body("{\"action\": \"open\", \"outcome\": \"" + outcome + "\", \"message\": \"secret\"}")
                .post(AuditLogFixture.LOGS);
    }

    private void awaitTheEnd() throws Exception {
        Await.until("all is counted", () -> project.request().get(ALERT).<Integer>path("lag") == 0);
    }

    /** The actions of the alert's events, in the order of the administration's feed. */
    private List<String> events() throws Exception {
        return log.texts(
                "select action from annals.feed where project_id = annals.administration() and subject_type = 'alert'"
                        + " and coalesce(metadata ->> 'project_id', metadata -> 'after' ->> 'project_id', metadata -> 'before' ->> 'project_id') = '"
                        + project.id() + "' order by sequence_id");
    }

    @Test
    void creationRaiseChangeAndDeletionOfAnAlertAreEventsInOrder() throws Exception {
        append("denied");
        put(ALERT, DENIED).then().statusCode(201).body("through", equalTo(1)).body("raised_window", nullValue());
        put(ALERT, DENIED).then().statusCode(200);
        append("denied");
        append("success");
        awaitTheEnd();
        project.request().get(ALERT).then().body("count", equalTo(1)).body("raised", equalTo(0));
        append("denied");
        append("denied");
        awaitTheEnd();
        project.request()
                .get(ALERT)
                .then()
                .body("state", equalTo("active"))
                .body("count", equalTo(3))
                .body("through", equalTo(5))
                .body("raised", equalTo(1));
        project.request().get("/v1/alerts").then().body("alerts", hasSize(1));
        put(ALERT, alert("outcome:denied", 2, 86_400))
                .then()
                .statusCode(200)
                .body("count", equalTo(0))
                .body("raised", equalTo(1));
        project.request().delete(ALERT).then().statusCode(204);
        assertThat(events())
                .containsExactly("annals.alert.set", "annals.alert.raise", "annals.alert.set", "annals.alert.delete");
        assertProblem(project.request().delete(ALERT).then().extract(), 404, "not-found");
    }

    @Test
    void theEventIsARecordOfTheAdministrationsFeedThatAuditorsRead() throws Exception {
        put(ALERT, alert("message:\"<b>\" OR secret", 0, 60)).then().statusCode(201);
        append("denied");
        awaitTheEnd();
        Map<String, Object> metadata = given().auth()
                .preemptive()
                .oauth2(AuditLogFixture.ADMIN_TOKEN)
                .queryParam("action", "annals.alert.raise")
                .queryParam("order", "desc")
                .queryParam("limit", 1)
                .get(AuditLogFixture.LOGS)
                .path("results[0].metadata");
        assertThat(metadata)
                .containsEntry("q", "message:\"<b>\" OR secret")
                .containsEntry("project_id", project.id().toString())
                .containsEntry("last_sequence_id", 1)
                .containsEntry("count", 1);
    }

    /** A redacted record is not counted again, though it may match now, or no longer. */
    @Test
    void aRedactionRaisesNothingAgain() throws Exception {
        put(ALERT, alert("-outcome:success -action:annals.*", 1, 86_400)).then().statusCode(201);
        for (String outcome : List.of("denied", "success", "denied")) {
            String id = append(outcome).path("id");
            awaitTheEnd();
            project.request()
                    .contentType("application/json")
                    .body("{\"fields\": [\"outcome\", \"message\"], \"reason\": \"By request\"}")
                    .post(AuditLogFixture.LOGS + "/" + id + "/redactions")
                    .then()
                    .statusCode(200);
        }
        awaitTheEnd();
        project.request().get(ALERT).then().body("count", equalTo(2)).body("raised", equalTo(1));
    }

    @Test
    void anInvalidQueryOrOneThatDependsOnTheClockIsRefused() {
        for (String q : List.of("last:1h", "(", "nobody:knows OR", "", "  ", "x".repeat(1_025), "***", "a\\u0000b")) {
            Response refused = put(ALERT, alert(q, 1, 60).replace("\\\\u0000", "\\u0000"));
            assertProblem(refused.then().extract(), 422, "invalid-body");
            assertThat(pointers(refused.then().extract())).as(q).containsOnly("/q");
        }
        project.request().get("/v1/alerts").then().body("alerts", hasSize(0));
    }

    /** The query is compared, not run. */
    @Test
    void aHostileQueryIsAValueLikeAnyOther() throws Exception {
        for (String q : List.of(
                "actor:\"'; drop table annals.alert; --\"",
                "\"$$ /* condition */ :terms::text[] is null\"",
                "metadata.a:\"\\\\' or true --\"",
                "action:\"open' or 'a' = 'a\"",
                "é💥 OR actor:\"\u202Ex\"")) {
            put(ALERT, alert(q, 0, 60))
                    .then()
                    .statusCode(org.hamcrest.Matchers.oneOf(200, 201))
                    .body("q", equalTo(q));
            append("denied");
            awaitTheEnd();
            project.request()
                    .get(ALERT)
                    .then()
                    .body("state", equalTo("active"))
                    .body("count", equalTo(0))
                    .body("failures", equalTo(0));
        }
        assertThat(events()).doesNotContain("annals.alert.raise");
    }

    @Test
    void valuesOutOfRangeAreRefused() {
        for (String[] wrong : new String[][] {
            {alert("x", -1, 60), "/threshold"},
            {alert("x", 1_000_000_001, 60), "/threshold"},
            {alert("x", 1, 59), "/interval_seconds"},
            {alert("x", 1, 86_401), "/interval_seconds"},
            {"{\"q\": \"x\", \"threshold\": 1.5, \"interval_seconds\": 60}", "/threshold"},
            {"{\"q\": \"x\", \"threshold\": 1e30, \"interval_seconds\": 60}", "/threshold"},
            {"{\"q\": \"x\", \"threshold\": 1, \"interval_seconds\": \"PT5M\"}", "/interval_seconds"},
            {"{\"q\": \"x\", \"threshold\": 1, \"interval_seconds\": 60, \"enabled\": null}", "/enabled"},
            {"{\"q\": \"x\", \"threshold\": 1, \"interval_seconds\": 60, \"sink\": 1}", "/sink"},
            {"{\"threshold\": 1, \"interval_seconds\": 60}", "/q"},
        }) {
            Response refused = put(ALERT, wrong[0]);
            assertProblem(refused.then().extract(), 422, "invalid-body");
            assertThat(pointers(refused.then().extract())).as(wrong[0]).containsExactly(wrong[1]);
        }
        put(ALERT, alert("x", 0, 60)).then().statusCode(201);
        put(ALERT, alert("x", 1_000_000_000, 86_400)).then().statusCode(200);
        assertProblem(put("/v1/alerts/a%20b", DENIED).then().extract(), 400, "invalid-parameter");
    }

    @Test
    void anAlertBelongsToItsProjectAlone() {
        put(ALERT, DENIED).then().statusCode(201);
        Project other = log.newProject("stream");
        assertProblem(other.request().get(ALERT).then().extract(), 404, "not-found");
        assertProblem(other.request().delete(ALERT).then().extract(), 404, "not-found");
        other.request().get("/v1/alerts").then().body("alerts", hasSize(0));
        other.request()
                .contentType("application/json")
                .body(DENIED)
                .put(ALERT)
                .then()
                .statusCode(201);
        project.request().get("/v1/alerts").then().body("alerts", hasSize(1));
        assertProblem(
                log.newProject("read", "write")
                        .request()
                        .get("/v1/alerts")
                        .then()
                        .extract(),
                403,
                "forbidden");
    }

    @Test
    void theNumberOfAlertsOfAProjectIsLimited() throws Exception {
        log.run(
                "select annals.set_alert('" + project.id()
                        + "', gen_random_uuid(), 'a' || n, 'outcome:denied', 1, 60, false, 149) from generate_series(1, 149) as n");
        put(ALERT, DENIED).then().statusCode(201);
        assertProblem(put("/v1/alerts/another", DENIED).then().extract(), 409, "too-many-alerts");
        put("/v1/alerts/a7", alert("outcome:denied", 2, 60)).then().statusCode(200);
        project.request().delete("/v1/alerts/a7").then().statusCode(204);
        put("/v1/alerts/another", DENIED).then().statusCode(201);
    }
}
