package dev.annals.edges.viewer;

import static dev.annals.ProblemAssertions.assertProblem;
import static dev.annals.ProblemAssertions.pointers;
import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasSize;
import static org.hamcrest.Matchers.nullValue;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Saved views and names of recorders over HTTP: definitions, rights, limits and events. */
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
class SavedViewTest {

    private static final String VIEWS = "/v1/views";
    private static final String ANY = "{\"filter\": {}}";

    private final AuditLogFixture log = new AuditLogFixture();
    private Project project;

    @BeforeEach
    void makeAProject() {
        project = log.newProject("read", "write", "stream");
    }

    @AfterEach
    void theStateFollowsFromTheEvents() throws Exception {
        log.checkFeed(project.id());
        assertThat(log.texts("select finding from annals.administration_differences()"))
                .isEmpty();
    }

    private static RequestSpecification with(String token) {
        return given().auth().preemptive().oauth2(token);
    }

    private static Response put(String token, String name, String body) {
        return with(token).contentType("application/json").body(body).put(VIEWS + "/{name}", name);
    }

    private Response put(String name, String body) {
        return put(project.token(), name, body);
    }

    private static List<String> wrongIn(Response answer) {
        return pointers(answer.then().extract()).stream().distinct().toList();
    }

    private List<String> events() throws Exception {
        return log.texts(
                "select action || ' ' || subject_name from annals.feed where project_id = annals.administration()"
                        + " and subject_type = 'view' and coalesce(nullif(metadata -> 'after', 'null'), metadata -> 'before') ->> 'project_id' = '"
                        + project.id() + "' order by sequence_id");
    }

    @Test
    void aSavedReplacedAndDeletedViewIsOneForAllReadersAndEachChangeAnEvent() throws Exception {
        String name = "Refused \"logins\" %2e \u00e9\ud83d\ude00; a?b#c";
        put(
                        name,
                        "{\"filter\": {\"q\": \"outcome:denied\", \"action\": \"login\"}, \"last\": \"24h\", \"columns\": [\"time\", \"metadata.a.\\\"b\\\"\"]}")
                .then()
                .statusCode(201)
                .body("name", equalTo(name))
                .body("last", equalTo("24h"));
        put(name, ANY).then().statusCode(200).body("columns", nullValue()).body("last", nullValue());
        put(name, ANY).then().statusCode(200);
        put("b", ANY).then().statusCode(201);
        String reader = log.newToken(project.id(), "read");
        with(reader).get(VIEWS).then().statusCode(200).body("views.name", contains(name, "b"));
        with(project.token()).delete(VIEWS + "/{name}", name).then().statusCode(204);
        assertProblem(
                with(project.token()).delete(VIEWS + "/{name}", name).then().extract(), 404, "not-found");
        with(reader).get(VIEWS).then().body("views.name", contains("b"));
        assertThat(events())
                .containsExactly(
                        "annals.view.set " + name,
                        "annals.view.set " + name,
                        "annals.view.set b",
                        "annals.view.delete " + name);
    }

    @Test
    void onlyReadersOfTheProjectSeeViewsAndOnlyTheScopeOfAlertsSavesThem() throws Exception {
        put("own", ANY).then().statusCode(201);
        for (String scope : new String[] {"read", "write", "redact", "link", "sequence"}) {
            String token = log.newToken(project.id(), scope);
            assertProblem(put(token, "own", ANY).then().extract(), 403, "forbidden");
            assertProblem(with(token).delete(VIEWS + "/own").then().extract(), 403, "forbidden");
            with(token).get(VIEWS).then().statusCode(scope.equals("read") ? 200 : 403);
        }
        String link = with(log.newToken(project.id(), "link"))
                .contentType("application/json")
                .body("{\"subject_id\": \"s\"}")
                .post("/v1/viewer-links")
                .path("url");
        link = link.substring(link.indexOf("#token=") + 7);
        with(link).get(VIEWS).then().statusCode(403);
        put(link, "own", ANY).then().statusCode(403);
        with(link)
                .get("/v1/recorders?recorded_by=token:" + UUID.randomUUID())
                .then()
                .statusCode(403);

        Project other = log.newProject("read", "stream");
        with(other.token()).get(VIEWS).then().body("views", hasSize(0));
        with(other.token()).delete(VIEWS + "/own").then().statusCode(404);
        put(other.token(), "own", "{\"filter\": {\"action\": \"other\"}}")
                .then()
                .statusCode(201);
        with(project.token()).get(VIEWS).then().body("views[0].filter.action", nullValue());
        assertThat(events()).containsExactly("annals.view.set own");
    }

    @ParameterizedTest
    @ValueSource(strings = {".x", "..x", "\u0001", "\u0085", " ", "\u2007"})
    void aNameThatNoPathHasIsRefused(String name) {
        put(name, ANY).then().statusCode(400);
    }

    @Test
    void aNameHasAtMostEightyCharacters() {
        put("\ud83d\ude00".repeat(80), ANY).then().statusCode(201);
        assertProblem(put("\ud83d\ude00".repeat(81), ANY).then().extract(), 400, "invalid-parameter");
        assertProblem(put("a".repeat(81), ANY).then().extract(), 400, "invalid-parameter");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{} | /filter",
                "{\"filter\": []} | /filter",
                "{\"filter\": {\"q\": \"(\"}} | /filter/q",
                "{\"filter\": {\"start\": \"x\"}} | /filter/start",
                "{\"filter\": {\"x\": \"1\"}} | /filter/x",
                "{\"filter\": {\"action\": \"\\u0000\"}} | /filter/action",
                "{\"filter\": {}, \"last\": \"0h\"} | /last",
                "{\"filter\": {\"end\": \"2026-01-01T00:00:00Z\"}, \"last\": \"1h\"} | /last",
                "{\"filter\": {}, \"columns\": []} | /columns",
                "{\"filter\": {}, \"columns\": [\"a\", \"a\"]} | /columns",
                "{\"filter\": {}, \"columns\": [\"\\u0000\"]} | /columns",
                "{\"filter\": {}, \"columns\": [\"\\ud800\"]} | /columns",
                "{\"filter\": {}, \"columns\": {\"a\": 1}} | /columns",
                "{\"filter\": {}, \"owner\": \"me\"} | /owner"
            })
    void whatIsWrongIsNamed(String body, String pointer) {
        assertThat(wrongIn(put("wrong", body))).containsExactly(pointer);
    }

    @Test
    void filtersAndColumnsHaveLimits() {
        String longest = "\"" + "\u20ac".repeat(1_024) + "\"";
        put("most", "{\"filter\": {\"actor\": " + longest + "}}").then().statusCode(201);
        assertThat(wrongIn(put(
                        "more",
                        "{\"filter\": {\"actor\": " + longest + ", \"subject\": " + longest + ", \"recorded_by\": "
                                + longest + "}}")))
                .contains("/filter");
        assertThat(wrongIn(put("more", "{\"filter\": {\"actor\": \"" + "a".repeat(1_025) + "\"}}")))
                .containsExactly("/filter/actor");
        put("most", columns(24, 200)).then().statusCode(200);
        assertThat(wrongIn(put("more", columns(25, 200)))).containsExactly("/columns");
        assertThat(wrongIn(put("more", columns(1, 201)))).containsExactly("/columns");
    }

    private static String columns(int count, int length) {
        return "{\"filter\": {}, \"columns\": ["
                + IntStream.range(0, count)
                        .mapToObj(i -> "\"" + i
                                + "x".repeat(length - Integer.toString(i).length()) + "\"")
                        .collect(Collectors.joining(","))
                + "]}";
    }

    @Test
    void aProjectHasAtMostAHundredViewsAndSavesThemAnewAlsoThen() {
        for (int i = 0; i < SavedViews.MOST; i++) {
            put("v" + i, ANY).then().statusCode(201);
        }
        assertProblem(put("more", ANY).then().extract(), 409, "too-many-views");
        put("v7", "{\"filter\": {\"action\": \"a\"}}").then().statusCode(200);
        with(project.token()).delete(VIEWS + "/v7").then().statusCode(204);
        put("more", ANY).then().statusCode(201);
        with(project.token()).get(VIEWS).then().body("views", hasSize(SavedViews.MOST));
    }

    @Test
    void recordersHaveTheDescriptionsOfTheProjectsTokensAlone() throws Exception {
        String writer = described(project, "<b>Shop</b> backend");
        String own = recorderOf(project, writer);
        Project other = log.newProject("read", "write");
        String foreign = recorderOf(other, described(other, "secret"));
        String plain = recorderOf(project, log.newToken(project.id(), "read", "write"));
        String all = String.join(",", own, foreign, plain);
        with(project.token())
                .get("/v1/recorders?recorded_by=" + all)
                .then()
                .statusCode(200)
                .body("recorders", hasSize(1))
                .body("recorders[0].recorded_by", equalTo(own))
                .body("recorders[0].name", equalTo("<b>Shop</b> backend"));
        with(log.newToken(project.id(), "write"))
                .get("/v1/recorders?recorded_by=" + own)
                .then()
                .statusCode(403);
        String fifty = IntStream.range(0, 50)
                .mapToObj(i -> "identity:" + UUID.randomUUID())
                .collect(Collectors.joining(","));
        with(project.token()).get("/v1/recorders?recorded_by=" + fifty).then().statusCode(200);
        for (String wrong : new String[] {
            "", "?recorded_by=", "?recorded_by=role:x", "?recorded_by=" + fifty + "," + own, "?of=" + own
        }) {
            assertProblem(
                    with(project.token()).get("/v1/recorders" + wrong).then().extract(), 400, "invalid-parameter");
        }
    }

    private static String described(Project project, String description) {
        return with(AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json")
                .body("{\"scopes\": [\"read\", \"write\"], \"description\": \"" + description + "\"}")
                .post("/v1/projects/" + project.id() + "/tokens")
                .path("token");
    }

    private static String recorderOf(Project project, String token) {
        return with(token)
                .contentType("application/json")
                .body("{\"action\": \"a\"}")
                .post(AuditLogFixture.LOGS)
                .then()
                .statusCode(201)
                .extract()
                .path("recorded_by");
    }
}
