package dev.annals.core.sequence;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.endsWith;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasItem;
import static org.hamcrest.Matchers.hasSize;

import dev.annals.ProjectTest;
import dev.annals.edges.contract.ContractFilter;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.ValidatableResponse;
import io.restassured.specification.RequestSpecification;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;
import org.junit.jupiter.params.provider.ValueSource;

@QuarkusTest
class SequenceResourceTest extends ProjectTest {

    @ParameterizedTest
    @EnumSource(
            value = SequenceKind.class,
            mode = Mode.EXCLUDE,
            names = {"COMMIT_ORDERED", "MAX_PLUS_ONE"})
    void everyDrawnKindIsDefinedOnceReadAndDrawnFrom(SequenceKind kind) {
        String body = "{\"kind\": \"" + kind + "\"}";
        put("n", body).statusCode(201).body("name", equalTo("n")).body("kind", equalTo(kind.name()));
        put("n", body).statusCode(200);
        as(project.token()).get("/v1/sequences/n").then().statusCode(200).body("kind", equalTo(kind.name()));
        List<Long> values =
                draw("n", "?count=1000").statusCode(200).extract().jsonPath().getList("values", Long.class);
        assertThat(values).hasSize(1000).doesNotHaveDuplicates();
        assertThat(draw("n", "").statusCode(200).extract().jsonPath().getLong("values[0]"))
                .isNotIn(values);
    }

    @Test
    void concurrentDrawsOfASynchronousSequenceLeaveNoGap() {
        put("invoice", """
                {"kind": "SYNCHRONOUS", "start": 1000}""").statusCode(201);
        List<CompletableFuture<Long>> draws = IntStream.range(0, 200)
                .mapToObj(i -> CompletableFuture.supplyAsync(() ->
                        draw("invoice", "").statusCode(200).extract().jsonPath().getLong("values[0]")))
                .toList();
        assertThat(draws.stream().map(CompletableFuture::join))
                .containsExactlyInAnyOrderElementsOf(
                        LongStream.range(1000, 1200).boxed().toList());
    }

    @Test
    void twoDefinitionsUnderOneNameAreRefused() {
        put("n", "{\"kind\": \"BATCH\"}").statusCode(201);
        assertProblem(put("n", """
                {"kind": "BATCH", "batch_size": 7}"""), 409, "sequence-exists");
        assertProblem(put("n", "{\"kind\": \"ASYNCHRONOUS\"}"), 409, "sequence-exists");
    }

    @Test
    void aSequenceOfAnotherProjectIsNotThere() {
        put("n", "{\"kind\": \"NATIVE\"}").statusCode(201);
        String other = log.newProject().token();
        assertProblem(as(other).get("/v1/sequences/n").then(), 404, "not-found");
        assertProblem(as(other).post("/v1/sequences/n/values").then(), 404, "not-found");
        as(other)
                .contentType("application/json")
                .body("{\"kind\": \"BATCH\"}")
                .put("/v1/sequences/n")
                .then()
                .statusCode(201);
    }

    @ParameterizedTest
    @ValueSource(strings = {"NATIVE", "SYNCHRONOUS"})
    void aSequenceOfOneValueGivesItAndIsExhausted(String kind) {
        put("one", "{\"kind\": \"" + kind + "\", \"max_value\": 1}").statusCode(201);
        draw("one", "").statusCode(200).body("values", hasSize(1));
        assertProblem(draw("one", ""), 409, "sequence-exhausted");
    }

    @Test
    void anExhaustedSequenceSaysSo() {
        put("n", """
                {"kind": "ASYNC_BATCH", "start": 5, "max_value": 8}""").statusCode(201);
        assertProblem(draw("n", "?count=5"), 409, "sequence-exhausted");
        draw("n", "?count=4").body("values", contains(5, 6, 7, 8));
        assertProblem(draw("n", ""), 409, "sequence-exhausted");
    }

    @Test
    void aDeletedSequenceSaysSoAndItsNameStaysTaken() {
        put("n", "{\"kind\": \"BATCH\"}").statusCode(201);
        draw("n", "").statusCode(200);
        as(project.token()).delete("/v1/sequences/n").then().statusCode(204);
        assertProblem(draw("n", ""), 410, "sequence-deleted");
        assertProblem(put("n", "{\"kind\": \"BATCH\"}"), 410, "sequence-deleted");
        assertProblem(as(project.token()).get("/v1/sequences/n").then(), 410, "sequence-deleted");
        assertProblem(as(project.token()).delete("/v1/sequences/n").then(), 410, "sequence-deleted");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                {"kind": "FASTEST"}                                            | /kind
                {"kind": 3}                                                      | /kind
                {"kind": "COMMIT_ORDERED"}                                     | /kind
                {}                                                                 | /kind
                {"kind": "BATCH", "batch_size": 0}                           | /batch_size
                {"kind": "BATCH", "batch_size": 1000001}                     | /batch_size
                {"kind": "BATCH", "batch_size": "7"}                       | /batch_size
                {"kind": "BATCH", "batch_size": 1.5}                         | /batch_size
                {"kind": "BATCH", "low_water_mark": 1}                       | /low_water_mark
                {"kind": "ASYNC_BATCH", "batch_size": 10, "low_water_mark": 11} | /low_water_mark
                {"kind": "BATCH", "start": 0}                                | /start
                {"kind": "BATCH", "start": 9223372036854775807}              | /start
                {"kind": "BATCH", "start": 92233720368547758070}             | /start
                {"kind": "BATCH", "start": 9, "max_value": 8}              | /start
                {"kind": "PSEUDO_RANDOM", "start": 2147483647}               | /start
                {"kind": "COMPOSITE", "start": 1}                            | /start
                {"kind": "BIT_REVERSED", "max_value": 9}                     | /max_value
                {"kind": "BATCH", "seed": 9}                                 | /seed
                []                                                                 | ''
                """)
    void aWrongDefinitionIsRefusedByField(String body, String pointer) {
        assertProblem(put("n", body), 422, "invalid-body").body("errors.pointer", hasItem(pointer));
        assertProblem(draw("n", ""), 404, "not-found");
    }

    @ParameterizedTest
    @CsvSource({"?count=0", "?count=1001", "?count=x", "?count=", "?count=1&count=2", "?limit=3", "?count=99999999999"})
    void aWrongCountIsRefused(String query) {
        put("n", "{\"kind\": \"BATCH\"}").statusCode(201);
        assertProblem(draw("n", query), 400, "invalid-parameter");
    }

    @Test
    void aDefinitionThatIsNoJsonInUtf8IsRefused() {
        assertProblem(put("n", " "), 400, "malformed-json");
        assertProblem(
                as(project.token())
                        .contentType("application/json")
                        .body("{\"kind\": \"BATCH\"}".getBytes(StandardCharsets.UTF_16LE))
                        .put("/v1/sequences/n")
                        .then(),
                400,
                "malformed-json");
        assertProblem(draw("n", ""), 404, "not-found");
    }

    @ParameterizedTest
    @ValueSource(strings = {"{", "nope", "{\"name\": }", "{\"name\":1,}", "\"\\x\""})
    void malformedJsonIsLocated(String body) {
        String detail =
                assertProblem(put("n", body), 400, "malformed-json").extract().path("detail");
        assertThat(detail).contains("line 1, column ");
    }

    @Test
    void aNameThatIsNoneIsRefused() {
        assertProblem(put("a b", "{\"kind\": \"BATCH\"}"), 400, "invalid-parameter");
        assertProblem(put("x".repeat(129), "{\"kind\": \"BATCH\"}"), 400, "invalid-parameter");
        put("x".repeat(128), "{\"kind\": \"BATCH\"}").statusCode(201);
        assertProblem(put("n", "{\"kind\": "), 400, "malformed-json");
        assertProblem(put("n", """
                {"kind": "BATCH", "kind": "BATCH"}"""), 400, "malformed-json");
    }

    @Test
    void aProjectHasAtMostAThousandSequences() throws SQLException {
        log.run("""
                insert into annals.sequence
                  (id, project_id, name, kind, start, max_value, batch_size, low_water_mark, next_value)
                select gen_random_uuid(), '%s', 's' || i, 'BATCH', 1, 9, 1, 0, 1 from generate_series(1, 1000) i
                """.formatted(project.id()));
        assertProblem(put("n", "{\"kind\": \"BATCH\"}"), 409, "too-many-sequences");
    }

    @Test
    void readingNeedsTheScopeReadDrawingWriteAndDefiningAndDeletingSequence() {
        put("n", "{\"kind\": \"BATCH\"}").statusCode(201);
        String reader = log.newToken(project.id(), "read");
        String writer = log.newToken(project.id(), "write");
        String keeper = log.newToken(project.id(), "sequence");
        as(reader).get("/v1/sequences/n").then().statusCode(200);
        assertProblem(as(reader).post("/v1/sequences/n/values").then(), 403, "forbidden");
        assertProblem(as(reader).delete("/v1/sequences/n").then(), 403, "forbidden");
        assertProblem(as(writer).get("/v1/sequences/n").then(), 403, "forbidden");
        assertProblem(as(writer).delete("/v1/sequences/n").then(), 403, "forbidden");
        assertProblem(
                as(writer)
                        .contentType("application/json")
                        .body("{\"kind\": \"BATCH\"}")
                        .put("/v1/sequences/m")
                        .then(),
                403,
                "forbidden");
        as(writer).post("/v1/sequences/n/values").then().statusCode(200);
        assertProblem(as(keeper).post("/v1/sequences/n/values").then(), 403, "forbidden");
        as(keeper).delete("/v1/sequences/n").then().statusCode(204);
        assertProblem(as("annals_nobody").post("/v1/sequences/n/values").then(), 401, "unauthorized");
    }

    @Test
    void drawsThroughTheServiceAndThroughOtherProcessesNeverMeet() {
        put("n", "{\"kind\": \"RECYCLED_SERIES\"}").statusCode(201);
        List<Long> issued = new ArrayList<>();
        try (SequenceProcess other = new SequenceProcess()) {
            for (int i = 0; i < 5; i++) {
                issued.add(draw("n", "").extract().jsonPath().getLong("values[0]"));
                other.sequences.draw(project.id(), "n", 2).await().atMost(SequenceProcess.LONG).stream()
                        .forEach(issued::add);
            }
        }
        assertThat(issued).hasSize(15).doesNotHaveDuplicates();
    }

    private static RequestSpecification as(String token) {
        return given().filter(ContractFilter.ofAnswers()).auth().oauth2(token);
    }

    private ValidatableResponse put(String name, String body) {
        return as(project.token())
                .contentType("application/json")
                .body(body)
                .put("/v1/sequences/{name}", name)
                .then();
    }

    private ValidatableResponse draw(String name, String query) {
        return as(project.token())
                .post("/v1/sequences/" + name + "/values" + query)
                .then();
    }

    private static ValidatableResponse assertProblem(ValidatableResponse answer, int status, String type) {
        return answer.statusCode(status).body("type", endsWith(":" + type));
    }
}
