package dev.annals.kernel.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.ProjectTest;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.http.Method;
import io.restassured.response.Response;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients read every answer as its own media type, and caches keep none with records or tokens. */
@QuarkusTest
class AnswerHeadersTest extends ProjectTest {

    private static final String LOGS = "/v1/project-logs";

    @ParameterizedTest
    @ValueSource(strings = {"/", "/viewer.js", "/q/openapi", "/q/health/ready", "/nothing", "/v1/nothing", LOGS})
    void everyAnswerForbidsToGuessItsMediaType(String path) {
        Response answer = project.wrongRequest().get(path);
        assertThat(answer.headers().getValues("X-Content-Type-Options")).containsExactly("nosniff");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
                GET|/v1/project-logs|
                HEAD|/v1/project-logs|
                HEAD|/v1/project-logs/stream|
                GET|/v1/project-logs?cursor=none|
                GET|/v1/project-logs/{id}|
                GET|/v1/project-logs/019a9d5e-5b00-7b52-9e0d-3f6a1c2b4d5e|
                GET|/v1/project-logs/export|
                GET|/v1/project-logs/export?format=csv|
                GET|/v1/project-logs/facets|
                HEAD|/v1/project-logs/facets|
                GET|/v1/project-logs/statistics?start=2026-01-01&end=2026-01-02|
                GET|/v1/sequences/none|
                POST|/v1/project-logs|{"action": "a"}
                POST|/v1/project-logs/batch|{"records": [{"action": "a"}]}
                POST|/v1/project-logs|{"action": 7}
                """)
    void noAnswerWithRecordsIsKept(Method method, String path, String body) {
        Response stored = project.request()
                .contentType("application/json")
                .body("{\"action\": \"a\"}")
                .post(LOGS);
        Response answer = project.wrongRequest()
                .contentType("application/json")
                .body(body == null ? "" : body)
                .request(method, path.replace("{id}", stored.path("id")));
        assertNotKept(answer);
    }

    @ParameterizedTest
    @ValueSource(strings = {"{\"action\": \"a\"}\n", "none"})
    void noSummaryIsKept(String lines) {
        assertNotKept(project.wrongRequest()
                .contentType("application/x-ndjson")
                .body(lines.getBytes(StandardCharsets.UTF_8))
                .post(AuditLogFixture.IMPORT));
    }

    @ParameterizedTest
    @ValueSource(strings = {"/v1/projects", "/v1/projects/{project}/tokens"})
    void noTokenIsKept(String path) {
        assertNotKept(io.restassured.RestAssured.given()
                .auth()
                .oauth2(AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json")
                .body(
                        path.endsWith("tokens")
                                ? "{\"scopes\": [\"read\"]}"
                                : "{\"name\": \"project " + UUID.randomUUID() + "\"}")
                .post(path.replace("{project}", project.id().toString())));
    }

    private static void assertNotKept(Response answer) {
        assertThat(answer.headers().getValues("Cache-Control")).containsExactly("no-store");
        assertThat(answer.headers().getValues("X-Content-Type-Options")).containsExactly("nosniff");
    }
}
