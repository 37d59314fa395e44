package dev.annals.core.append;

import static dev.annals.AuditLogFixture.BATCH;
import static dev.annals.AuditLogFixture.IMPORT;
import static dev.annals.AuditLogFixture.LOGS;
import static dev.annals.AuditLogFixture.batch;
import static dev.annals.AuditLogFixture.pathOf;
import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.ProjectTest;
import dev.annals.edges.contract.ContractFilter;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.path.json.JsonPath;
import io.restassured.response.ExtractableResponse;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every record says who wrote it, and no writer can say otherwise. */
@QuarkusTest
class RecordedByTest extends ProjectTest {

    /** A token with its id. */
    private record Token(String id, String token) {

        String recorder() {
            return "token:" + id;
        }

        RequestSpecification request() {
            return given().urlEncodingEnabled(false)
                    .header("Authorization", "Bearer " + token)
                    .contentType("application/json")
                    .filter(ContractFilter.ofRequestsAndAnswers());
        }
    }

    private Token jane;
    private Token joe;

    @BeforeEach
    void makeTokens() {
        jane = newToken();
        joe = newToken();
    }

    private Token newToken() {
        ExtractableResponse<Response> made = given().auth()
                .oauth2(AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json")
                .body("""
                        {"scopes": ["read", "write", "sequence"]}""")
                .post("/v1/projects/" + project.id() + "/tokens")
                .then()
                .statusCode(201)
                .extract();
        return new Token(made.path("id"), made.path("token"));
    }

    @Test
    void aRecordOfTheApiNamesTheTokenThatItCameWith() {
        Response answer = jane.request().body("{\"action\": \"a\"}").post(LOGS);
        assertThat(answer.<String>path("recorded_by")).isEqualTo(jane.recorder());
        Response one = joe.request().get(LOGS + "/" + answer.path("id"));
        assertThat(one.<String>path("recorded_by")).isEqualTo(jane.recorder());
        joe.request().body(batch("{\"action\": \"b\"}", "{\"action\": \"c\"}")).post(BATCH);
        joe.request()
                .contentType("application/x-ndjson")
                .body("{\"action\": \"d\"}\n{\"action\": \"e\"}\n".getBytes(StandardCharsets.UTF_8))
                .post(IMPORT);
        assertThat(recorders(LOGS))
                .containsExactly(jane.recorder(), joe.recorder(), joe.recorder(), joe.recorder(), joe.recorder());
    }

    @Test
    void aRecordWithANumberNamesItsTokenToo() {
        jane.request()
                .body("{\"kind\": \"SYNCHRONOUS\"}")
                .put("/v1/sequences/invoice")
                .then()
                .statusCode(201);
        for (Token token : List.of(joe, jane)) {
            Response answer = token.request().body("""
                            {"action": "a", "number": {"sequence": "invoice"}}""").post(LOGS);
            assertThat(answer.<String>path("recorded_by")).isEqualTo(token.recorder());
        }
        assertThat(recorders(LOGS)).containsExactly(joe.recorder(), jane.recorder());
    }

    @Test
    void requestsThatShareACommitKeepTheirOwnTokens() throws Exception {
        ExecutorService clients = Executors.newFixedThreadPool(16);
        try {
            List<Future<Response>> answers = new ArrayList<>();
            for (int i = 0; i < 120; i++) {
                Token token = i % 2 == 0 ? jane : joe;
                String record = "{\"action\": \"" + token.id() + "\"}";
                String body = i % 3 == 0 ? batch(record, record) : record;
                answers.add(clients.submit(() -> token.request().body(body).post(pathOf(body))));
            }
            for (Future<Response> answer : answers) {
                answer.get().then().statusCode(201);
            }
        } finally {
            clients.shutdownNow();
        }
        JsonPath page = jane.request().get(LOGS + "?limit=1000").jsonPath();
        List<String> actions = page.getList("results.action");
        assertThat(actions).hasSize(160);
        assertThat(page.<String>getList("results.recorded_by"))
                .isEqualTo(actions.stream().map(id -> "token:" + id).toList());
    }

    @Test
    void aRetryWithAnotherTokenIsAnsweredAsTheFirstTime() {
        String record = "{\"id\": \"" + UUID.randomUUID() + "\", \"action\": \"a\"}";
        Response first = jane.request().body(record).post(LOGS);
        Response again = joe.request().body(record).post(LOGS);
        assertThat(first.statusCode()).isEqualTo(201);
        assertThat(again.statusCode()).isEqualTo(200);
        assertThat(again.asString()).isEqualTo(first.asString());
        assertThat(recorders(LOGS)).containsExactly(jane.recorder());
    }

    @Test
    void aRecordOfPlainSqlNamesTheRoleThatLoggedIn() throws Exception {
        try (Connection connection = log.connect()) {
            AuditLogFixture.insert(connection, project.id(), "sql");
            connection.commit();
        }
        String user = log.text("select session_user");
        assertThat(recorders(LOGS)).containsExactly("role:" + user);
        assertThat(recorders(LOGS + "?recorded_by=role:" + user)).hasSize(1);
        assertThat(recorders(LOGS + "?recorded_by=role:" + user + "x")).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"\"token:019a9d5e-5b00-7b52-9e0d-3f6a1c2b4d5e\"", "\"role:postgres\"", "null", "7"})
    void aClientCannotSayWhoItIs(String value) {
        String record = "{\"action\": \"a\", \"recorded_by\": " + value + "}";
        project.wrongRequest()
                .contentType("application/json")
                .body(record)
                .post(LOGS)
                .then()
                .statusCode(422);
        assertThat(project.wrongRequest()
                        .contentType("application/x-ndjson")
                        .body((record + "\n").getBytes(StandardCharsets.UTF_8))
                        .post(IMPORT)
                        .<Integer>path("refused"))
                .isEqualTo(1);
    }

    @Test
    void theFilterChoosesOneWriterEverywhere() {
        for (int i = 0; i < 6; i++) {
            (i % 3 == 0 ? jane : joe).request().body("{\"action\": \"a\"}").post(LOGS);
        }
        String filter = "recorded_by=" + jane.recorder();
        assertThat(recorders(LOGS + "?" + filter)).containsExactly(jane.recorder(), jane.recorder());
        assertThat(recorders(LOGS + "?order=desc&" + filter)).hasSize(2);
        assertThat(recorders(LOGS + "?recorded_by=token:" + jane.id().toUpperCase(java.util.Locale.ROOT)))
                .hasSize(2);
        Response page = joe.request().get(LOGS + "?limit=1&" + filter);
        assertThat(page.<String>path("next")).contains("recorded_by=" + jane.recorder());
        String export = joe.request().get(LOGS + "/export?" + filter).asString();
        assertThat(export.lines()).hasSize(2).allMatch(line -> line.contains(jane.recorder()));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "jane",
                "token:",
                "token:jane",
                "role:",
                "TOKEN:019a9d5e-5b00-7b52-9e0d-3f6a1c2b4d5e",
                "role:%00"
            })
    void aFilterThatNamesNoWriterIsRefused(String value) {
        project.wrongRequest()
                .get(LOGS + "?recorded_by=" + value)
                .then()
                .statusCode(400)
                .body("parameter", org.hamcrest.Matchers.equalTo("recorded_by"));
    }

    private List<String> recorders(String url) {
        return jane.request().get(url).then().statusCode(200).extract().path("results.recorded_by");
    }
}
