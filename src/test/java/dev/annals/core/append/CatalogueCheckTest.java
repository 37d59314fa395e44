package dev.annals.core.append;

import static dev.annals.ProblemAssertions.assertProblem;
import static dev.annals.ProblemAssertions.pointers;
import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.equalTo;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.ExtractableResponse;
import io.restassured.response.Response;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** No form of writing stores records that the project's catalogue refuses. */
@QuarkusTest
class CatalogueCheckTest {

    private static final String LOGS = AuditLogFixture.LOGS;
    private static final String KNOWN = "{\"action\": \"known\", \"metadata\": {\"n\": 1}}";
    private static final String UNKNOWN = "{\"action\": \"unknown\"}";
    private static final String ILL_FORMED = "{\"action\": \"known\", \"metadata\": {\"n\": \"one\"}}";

    private final AuditLogFixture log = new AuditLogFixture();
    private Project project;

    @BeforeEach
    void makeProject() {
        project = log.newProject("read", "write");
    }

    @AfterEach
    void checkFeed() throws Exception {
        log.checkFeed(project.id());
    }

    private void policies(String unknownActions, String illFormedMetadata) {
        given().header("Authorization", "Bearer " + AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json")
                .body("""
                        {"unknown_actions": "%s", "ill_formed_metadata": "%s", "actions": [
                          {"name": "known", "metadata_schema": {"properties": {"n": {"type": "integer"}}}}, {"name": "free"}]}
                        """.formatted(unknownActions, illFormedMetadata))
                .put("/v1/projects/" + project.id() + "/actions")
                .then()
                .statusCode(200);
    }

    private ExtractableResponse<Response> append(String path, String type, String body) {
        return project.request().contentType(type).body(body).post(path).then().extract();
    }

    private ExtractableResponse<Response> append(String record) {
        return append(LOGS, "application/json", record);
    }

    private void assertRefused(ExtractableResponse<Response> answer, String pointer) {
        assertProblem(answer, 422, "invalid-record");
        assertThat(pointers(answer)).containsExactly(pointer);
    }

    private List<String> stored() {
        return project.request().get(LOGS).then().statusCode(200).extract().path("results.action");
    }

    @ParameterizedTest
    @ValueSource(strings = {"accept", "mark"})
    void otherPoliciesStoreEverything(String policy) {
        policies(policy, policy);
        for (String record : List.of(KNOWN, UNKNOWN, ILL_FORMED)) {
            assertThat(append(record).statusCode()).isEqualTo(201);
        }
        assertThat(stored()).containsExactly("known", "unknown", "known");
    }

    @Test
    void eachPolicyRefusesByItself() {
        policies("refuse", "accept");
        assertThat(append(KNOWN).statusCode()).isEqualTo(201);
        assertThat(append(ILL_FORMED).statusCode()).isEqualTo(201);
        assertRefused(append(UNKNOWN), "/action");
        policies("accept", "refuse");
        assertThat(append(KNOWN).statusCode()).isEqualTo(201);
        assertThat(append(UNKNOWN).statusCode()).isEqualTo(201);
        assertRefused(append(ILL_FORMED), "/metadata/n");
        assertThat(stored()).containsExactly("known", "known", "known", "unknown");
    }

    @Test
    void aChangeCountsAtOnce() {
        assertThat(append(UNKNOWN).statusCode()).isEqualTo(201);
        policies("refuse", "accept");
        assertRefused(append(UNKNOWN), "/action");
        policies("accept", "accept");
        assertThat(append(UNKNOWN).statusCode()).isEqualTo(201);
    }

    @Test
    void anotherProjectsCatalogueRefusesNothing() {
        policies("refuse", "refuse");
        Project other = log.newProject("write");
        other.request()
                .contentType("application/json")
                .body(UNKNOWN)
                .post(LOGS)
                .then()
                .statusCode(201);
    }

    @Test
    void aBatchIsRefusedWholeAndNamesEachRecord() {
        policies("refuse", "refuse");
        ExtractableResponse<Response> answer =
                append(LOGS + "/batch", "application/json", AuditLogFixture.batch(KNOWN, UNKNOWN, ILL_FORMED, KNOWN));
        assertProblem(answer, 422, "invalid-record");
        assertThat(pointers(answer)).containsExactly("/records/1/action", "/records/2/metadata/n");
        assertThat(stored()).isEmpty();
    }

    @Test
    void anImportStoresTheOtherLinesInTheirOrderAndNamesTheRefusedOnes() {
        policies("refuse", "refuse");
        String lines = IntStream.range(0, 3_000)
                .mapToObj(i -> switch (i % 1_000) {
                    case 500 -> UNKNOWN;
                    case 501 -> ILL_FORMED;
                    default -> "{\"action\": \"known\", \"metadata\": {\"n\": %d}}".formatted(i);
                })
                .collect(Collectors.joining("\n"));
        project.request()
                .contentType("application/x-ndjson")
                .body(lines.getBytes(StandardCharsets.UTF_8))
                .post(LOGS + "/import")
                .then()
                .statusCode(200)
                .body("stored", equalTo(2_994))
                .body("refused", equalTo(6))
                .body("refusals.line", contains(501, 502, 1_501, 1_502, 2_501, 2_502))
                .body("refusals[0].problem.errors[0].pointer", equalTo("/action"))
                .body("refusals[1].problem.errors[0].pointer", equalTo("/metadata/n"));
        List<Integer> numbers = project.request()
                .get(LOGS + "?limit=1000&cursor=0")
                .then()
                .extract()
                .path("results.metadata.n");
        assertThat(numbers).isSorted();
    }

    @Test
    void cloudEventsAreRefused() {
        policies("refuse", "refuse");
        ExtractableResponse<Response> answer =
                append("/v1/cloudevents", "application/cloudevents+json; charset=UTF-8", """
                {"specversion": "1.0", "id": "1", "source": "/s", "type": "unknown"}
                """);
        assertRefused(answer, "/data/action");
        assertThat(append("/v1/cloudevents", "application/cloudevents+json; charset=UTF-8", """
                {"specversion": "1.0", "id": "2", "source": "/s", "type": "free"}
                """)
                        .statusCode())
                .isEqualTo(201);
    }

    @Test
    void otlpLogsAreRefusedOneByOne() {
        policies("refuse", "refuse");
        String record = """
                {"timeUnixNano": "%d", "attributes": [{"key": "audit.action", "value": {"stringValue": "%s"}}]}
                """;
        append("/v1/logs", "application/json", """
                {"resourceLogs": [{"scopeLogs": [{"logRecords": [%s, %s, %s]}]}]}
                """.formatted(
                        record.formatted(1, "free"), record.formatted(2, "unknown"), record.formatted(3, "free")));
        assertThat(stored()).containsExactly("free", "free");
    }

    @Test
    void aPageMarksWhatDoesNotFitUnlessThePolicyAcceptsIt() {
        append(KNOWN);
        append(UNKNOWN);
        append(ILL_FORMED);
        assertThat(misfits("")).containsExactly(null, null, null);
        policies("mark", "accept");
        assertThat(misfits("")).containsExactly(null, "/action", null);
        policies("accept", "refuse");
        assertThat(misfits("?order=desc")).containsExactly("/metadata/n", null, null);
        policies("mark", "mark");
        assertThat(misfits("?wait=1")).containsExactly(null, "/action", "/metadata/n");
        policies("accept", "accept");
        assertThat(misfits("")).containsExactly(null, null, null);
    }

    private List<@Nullable Object> misfits(String query) {
        List<Map<String, Map<String, Object>>> results = project.request()
                .get(LOGS + query)
                .then()
                .statusCode(200)
                .extract()
                .path("results");
        List<@Nullable Object> pointers = new ArrayList<>();
        for (Map<String, Map<String, Object>> record : results) {
            Map<String, Object> misfit = record.get("misfit");
            pointers.add(misfit == null ? null : misfit.get("pointer"));
        }
        return pointers;
    }
}
