package dev.annals.derived.redaction;

import static dev.annals.ProblemAssertions.assertProblem;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.equalTo;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.SqlFixture;
import dev.annals.derived.log.LogReader;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.ProvedRecord;
import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.Response;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Redacted values disappear from all answers. Everything else stays, above all proofs. */
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
class RedactionTest {

    private static final String LOGS = AuditLogFixture.LOGS;
    private static final String SECRET = "Jane Ümit \\\"quoted\\\" \\u0007";

    private final AuditLogFixture log = new AuditLogFixture();
    private Project project;
    private String id;

    @BeforeEach
    void appendARecord() {
        project = log.newProject("read", "write", "redact", "sequence");
        append("{\"action\": \"before\"}");
        id = UUID.randomUUID().toString();
        append(record());
        append("{\"action\": \"after\", \"message\": \"Nothing\"}");
    }

    @AfterEach
    void theFeedIsWhole() throws Exception {
        log.checkFeed(project.id());
    }

    private String record() {
        return """
                {"id": "%s", "action": "open", "actor": {"type": "user", "id": "u-4711", "name": "%s"}, "outcome": "success",
                 "subject": {"name": "Secret Room"}, "ip_address": "2001:db8::7", "message": "%s went in",
                 "timestamp": "2026-01-01T00:00:00Z", "metadata": {"n": 1.10, "é": "%s", "b": [12345678901234567890]}}
                """.formatted(id, SECRET, SECRET, SECRET);
    }

    private Response append(String record) {
        return project.request().contentType("application/json").body(record).post(LOGS);
    }

    private Response redact(String record, String body) {
        return project.wrongRequest()
                .contentType("application/json")
                .body(body)
                .post(LOGS + "/" + record + "/redactions");
    }

    private static String fields(String... names) {
        String list = List.of(names).stream().map(name -> "\"" + name + "\"").collect(Collectors.joining(", "));
        return "{\"fields\": [" + list + "], \"reason\": \"Request of the person\"}";
    }

    private Response get(String path) {
        return project.request().get(path).then().statusCode(200).extract().response();
    }

    @Test
    void theRecordShowsDigestsInPlaceOfTheValuesAndItsLeafIsTheSame() throws Exception {
        LogReader reader = new LogReader(project);
        Await.until("all records are in the log", () -> reader.next().size() == 3);
        Checkpoint before = reader.next();
        ProvedRecord proved = reader.prove(id);

        Map<String, Object> answer = redact(id, fields("actor.name", "message", "metadata", "ip_address"))
                .then()
                .statusCode(200)
                .body("actor.id", equalTo("u-4711"))
                .extract()
                .path("");
        assertThat(answer)
                .containsKeys("redacted", "subject", "outcome", "recorded_by")
                .doesNotContainKeys("message", "ip_address")
                .containsEntry("metadata", Map.of());
        assertThat((Map<?, ?>) answer.get("redacted")).hasSize(4);

        ProvedRecord after = reader.prove(id);
        assertThat(after.entry()).isEqualTo(proved.entry());
        assertThat(after.record().fields()).doesNotContainKeys("actor.name", "message", "metadata", "ip_address");
        assertThat(reader.walk(before, 2))
                .hasSize(3)
                .extracting(ProvedRecord::entry)
                .contains(proved.entry());
        Await.until("the event is in the log", () -> reader.next().size() == 4);
        assertThat(reader.walk(reader.next(), 1000)).hasSize(4);
        assertThat(reader.prove(id).entry()).isEqualTo(proved.entry());
    }

    @Test
    void noAnswerShowsARedactedValue() {
        redact(id, fields("actor.name", "actor.id", "subject.name", "message", "metadata", "ip_address"))
                .then()
                .statusCode(200);
        for (String path : List.of(
                LOGS + "/" + id,
                LOGS + "?limit=2",
                LOGS + "?order=desc",
                LOGS + "?action=open",
                LOGS + "/statistics?by=actor",
                LOGS + "/export?format=ndjson&action=open",
                LOGS + "/export?format=csv&action=open",
                LOGS + "/export?format=cloudevents&action=open",
                LOGS + "/export?format=ocsf&action=open")) {
            assertThat(get(path).asString())
                    .as(path)
                    .doesNotContain("Jane Ümit", "u-4711", "2001:db8::7", "Secret Room", "12345678901234567890");
            if (path.contains("export") || path.endsWith(id)) {
                assertThat(get(path).asString()).as(path).contains("redacted", "actor.name");
            }
        }
        assertThat(get(LOGS + "?actor=u-4711").<List<?>>path("results")).isEmpty();
        assertThat(get(LOGS + "?q=went").<List<?>>path("results")).isEmpty();
        assertThat(get(LOGS + "?ip_address=2001:db8::7").<List<?>>path("results"))
                .isEmpty();
    }

    @Test
    void theEventNamesTheActorTheFieldsAndTheReasonAlone() {
        redact(id, fields("message", "actor.name")).then().statusCode(200);
        Map<String, Object> event = get(LOGS + "?order=desc&limit=1").path("results[0]");
        assertThat(event)
                .containsEntry("action", "annals.redact")
                .containsEntry("message", "Request of the person")
                .containsEntry("subject", Map.of("type", "record", "id", id))
                .containsEntry("metadata", Map.of("fields", List.of("actor.name", "message"), "sequence_id", 2));
        assertThat((String) event.get("recorded_by")).startsWith("token:");
        assertThat(event.toString()).doesNotContain("Jane");
    }

    @Test
    void aRepeatedRedactionChangesNothingAndFurtherFieldsAreAdded() throws Exception {
        LogReader reader = new LogReader(project);
        String first =
                redact(id, fields("message")).then().statusCode(200).extract().asString();
        assertThat(redact(id, fields("message")).asString()).isEqualTo(first);
        assertThat(get(LOGS).<List<?>>path("results")).hasSize(4);

        redact(id, fields("message", "outcome", "metadata")).then().statusCode(200);
        Map<String, Object> event = get(LOGS + "?order=desc&limit=1").path("results[0]");
        assertThat(event.get("metadata").toString()).contains("[metadata, outcome]");
        redact(id, fields("actor.type", "actor.id", "actor.name", "subject.name", "ip_address"))
                .then()
                .statusCode(200);
        Map<String, Object> left = get(LOGS + "/" + id).path("");
        assertThat((Map<?, ?>) left.get("redacted")).hasSize(8);
        assertThat(left).doesNotContainKeys("actor", "subject");
        Await.until("all records are in the log", () -> reader.next().size() == 6);
        assertThat(reader.walk(reader.next(), 3)).hasSize(6);
    }

    @Test
    void aRetriedAppendOfARedactedRecordIsAnsweredAsBefore() {
        redact(id, fields("message", "actor.name", "metadata")).then().statusCode(200);
        append(record()).then().statusCode(200).body("sequence_id", equalTo(2));
        append(record().replace("u-4711", "u-4712")).then().statusCode(409);
        append(record().replace("success", "failure")).then().statusCode(409);
        assertThat(get(LOGS).<List<?>>path("results")).hasSize(4);
    }

    @Test
    void invalidRequestsAreRefusedWithReasons() {
        assertProblem(
                redact(UUID.randomUUID().toString(), fields("message")).then().extract(), 404, "not-found");
        assertProblem(redact("1", fields("message")).then().extract(), 404, "not-found");
        for (String body : List.of(
                fields("subject.id"),
                fields("colour"),
                fields("message", "message"),
                fields("action"),
                fields("timestamp"),
                fields("recorded_by"),
                fields("number"),
                fields(),
                "{\"fields\": [\"message\"]}",
                "{\"fields\": [\"message\"], \"reason\": \" \"}",
                "{\"fields\": [1], \"reason\": \"r\"}",
                "{\"fields\": \"message\", \"reason\": \"r\"}",
                "{\"fields\": [\"message\"], \"reason\": \"r\", \"more\": 1}",
                "{\"fields\": [\"message\"], \"reason\": \"" + "r".repeat(1025) + "\"}",
                "{\"fields\": [\"actor.id\"], \"reason\": \"u-4711 wants it\"}",
                "[]")) {
            assertProblem(redact(id, body).then().extract(), 422, "invalid-body");
        }
        assertProblem(redact(id, "{").then().extract(), 400, "malformed-json");
        assertThat(get(LOGS).<List<?>>path("results")).hasSize(3);
        assertThat(get(LOGS + "/" + id).<Object>path("redacted")).isNull();
        for (String scope : List.of("read", "write", "sequence")) {
            Project without = new Project(project.id(), log.newToken(project.id(), scope));
            assertProblem(
                    without.wrongRequest()
                            .contentType("application/json")
                            .body(fields("message"))
                            .post(LOGS + "/" + id + "/redactions")
                            .then()
                            .extract(),
                    403,
                    "forbidden");
        }
    }

    @Test
    void aTokenThatMayNotReadLearnsNothingOfARecord() throws Exception {
        Project blind = new Project(project.id(), log.newToken(project.id(), "redact"));
        String right = "{\"fields\": [%s], \"reason\": \"u-4711, Secret Room or Jane Ümit\"}";
        String wrong = "{\"fields\": [%s], \"reason\": \"u-4712, Secret Hall or Jack Ümit\"}";
        for (String fields : List.of("\"subject.id\"", "\"subject.type\", \"subject.id\"")) {
            for (String body : List.of(right, wrong)) {
                assertThat(redactAs(blind, id, body.formatted(fields)))
                        .as("nothing that is set")
                        .isEqualTo("204 ");
            }
        }
        assertThat(get(LOGS).<List<?>>path("results")).as("no event").hasSize(3);
        new SqlFixture()
                .run("select annals.set_hold('" + project.id() + "', '" + UUID.randomUUID()
                        + "', null, null, 'case', null, '10.0.0.1')");
        Set<String> held = new HashSet<>();
        for (String fields : List.of("\"subject.id\"", "\"actor.id\"", "\"actor.id\", \"subject.id\"")) {
            for (String body : List.of(right, wrong)) {
                held.add(redactAs(blind, id, body.formatted(fields)).replaceAll("\"instance\":\"[^\"]*\"", ""));
            }
        }
        assertThat(held).singleElement().asString().startsWith("409 ").contains("legal-hold");
        new SqlFixture()
                .run("select annals.lift_hold('" + project.id() + "', h.id, 'over', null, '10.0.0.1')"
                        + " from annals.legal_hold as h where h.project_id = '" + project.id() + "'");

        String all = right.formatted("\"actor.id\", \"subject.name\", \"subject.id\"");
        assertThat(redactAs(blind, id, all)).isEqualTo("204 ");
        assertThat(redactAs(blind, id, all)).isEqualTo("204 ");
        assertThat(get(LOGS + "?order=desc&limit=1").<String>path("results[0].message"))
                .isEqualTo("[…], […] or Jane Ümit");
        assertThat(get(LOGS + "/" + id).<Map<String, Object>>path("redacted"))
                .containsOnlyKeys("actor.id", "subject.name");
        String event = get(LOGS + "?order=desc&limit=1").path("results[0].id");
        assertThat(redactAs(blind, event, fields("subject.id"))).startsWith("422 ");
        assertThat(redactAs(blind, event, fields("message"))).isEqualTo("204 ");
        assertThat(redactAs(blind, event, fields("message"))).isEqualTo("204 ");
    }

    private static String redactAs(Project token, String record, String body) {
        Response answer = token.wrongRequest()
                .contentType("application/json")
                .body(body)
                .post(LOGS + "/" + record + "/redactions");
        return answer.statusCode() + " " + answer.asString();
    }

    @Test
    void noWriterCanAppendARedactionEvent() {
        assertProblem(
                project.wrongRequest()
                        .contentType("application/json")
                        .body("{\"action\": \"annals.redact\"}")
                        .post(LOGS)
                        .then()
                        .extract(),
                422,
                "invalid-record");
        redact(id, fields("message")).then().statusCode(200);
        String event = get(LOGS + "?order=desc&limit=1").path("results[0].id");
        assertThat(redact(event, fields("subject.id")).statusCode()).isEqualTo(422);
        redact(event, fields("message").replace("Request", "At the wish"))
                .then()
                .statusCode(200);
    }

    /** The event extends the feed, so only a page that ends before it can come from memory. */
    @Test
    void pagesInMemoryDoNotShowARedactedValueAfterTheAnswer() {
        for (int round = 0; round < 10; round++) {
            String secret = "secret " + UUID.randomUUID();
            Map<String, Object> next = append("{\"action\": \"a\", \"message\": \"" + secret + "\"}")
                    .path("");
            append("{\"action\": \"behind\"}");
            String page = LOGS + "?limit=" + next.get("sequence_id");
            for (int i = 0; i < 3; i++) {
                assertThat(get(LOGS).asString()).contains(secret);
                assertThat(get(page).asString()).contains(secret);
            }
            redact((String) next.get("id"), fields("message")).then().statusCode(200);
            assertThat(get(page).asString()).doesNotContain(secret);
            assertThat(get(LOGS).asString()).doesNotContain(secret);
        }
    }
}
