package dev.annals.edges.contract;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.restassured.specification.RequestSpecification;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Proves that the filter sees differences, against a server that answers whatever a test says. */
class ContractFilterTest {
    private static final String JSON = "application/json";
    private static final String PROBLEM = "application/problem+json";
    private static final Map<String, String> LINK = Map.of("Link", "</v1/project-logs>; rel=\"poll-more\"");
    private static final Map<String, String> LOCATION = Map.of("Location", "/v1/project-logs/019a9d5e");
    private static final String RECORD = """
            {"id": "019a9d5e-7c1a-7b52-9e0d-3f6a1c2b4d5e", "sequence_id": 1, "action": "login",
             "timestamp": "2025-09-03T11:15:19.391447Z", "recorded_at": "2025-09-03T11:15:19.391447Z",
             "metadata": {"any": [1, {"thing": true}]}}""";
    private static final String PAGE = """
            {"next": null, "poll_more": "http://localhost/v1/project-logs?cursor=1-00000000", "results": [%s]}""";
    private static final String UNAUTHORIZED = """
            {"type": "urn:annals:problem:unauthorized", "title": "A valid token is needed", "status": 401,
             "detail": "Send one."}""";

    private HttpServer server;
    private Answer answer;

    private record Answer(int status, String mediaType, Map<String, String> headers, String body) {}

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", this::answer);
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    @Test
    void rightAnswersPass() {
        assertThatCode(() -> list(200, JSON, LINK, PAGE.formatted(RECORD))).doesNotThrowAnyException();
        assertThatCode(() -> list(401, PROBLEM, Map.of("WWW-Authenticate", "Bearer"), UNAUTHORIZED))
                .doesNotThrowAnyException();
        assertThatCode(() -> append(201, RECORD)).doesNotThrowAnyException();
        assertThatCode(() -> append("/v1/project-logs/batch", 201, """
                        {"results": [{"id": "019a9d5e-7c1a-7b52-9e0d-3f6a1c2b4d5e", "sequence_id": 1}]}""")).doesNotThrowAnyException();
    }

    @Test
    void aFieldOfAnotherTypeIsNamed() {
        assertThatThrownBy(() -> list(200, JSON, LINK, PAGE.formatted(RECORD.replace(": 1,", ": \"1\","))))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("listProjectLogs")
                .hasMessageContaining("/results/0/sequence_id");
    }

    @Test
    void aMissingFieldIsNamed() {
        assertThatThrownBy(() -> list(200, JSON, LINK, PAGE.formatted(RECORD.replace("\"action\": \"login\",", ""))))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("action");
    }

    @Test
    void aFieldThatTheContractDoesNotKnowIsNamed() {
        assertThatThrownBy(
                        () -> list(200, JSON, LINK, PAGE.formatted(RECORD.replace("action", "akshun\": 1, \"action"))))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("akshun");
        assertThatThrownBy(() -> append(201, RECORD.replace("action", "akshun\": 1, \"action")))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("akshun");
    }

    @Test
    void aDateOrAnIdThatIsNoneIsNamed() {
        assertThatThrownBy(() -> list(200, JSON, LINK, PAGE.formatted(RECORD.replace("T11", " 11"))))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("recorded_at");
        assertThatThrownBy(() -> list(200, JSON, LINK, PAGE.formatted(RECORD.replace("019a9d5e-", "019a9d5e"))))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("/results/0/id");
    }

    @Test
    void aStatusThatTheContractDoesNotGiveIsADifference() {
        assertThatThrownBy(() -> list(204, JSON, LINK, "")).isInstanceOf(AssertionError.class);
        assertThatThrownBy(() -> list(500, PROBLEM, Map.of(), UNAUTHORIZED.replace("401", "500")))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("500");
    }

    @Test
    void aMissingHeaderIsNamed() {
        assertThatThrownBy(() -> list(401, PROBLEM, Map.of(), UNAUTHORIZED))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("WWW-Authenticate");
    }

    @Test
    void anErrorMustBeAProblemOfItsStatus() {
        var header = Map.of("WWW-Authenticate", "Bearer");
        assertThatThrownBy(() -> list(401, JSON, header, UNAUTHORIZED)).isInstanceOf(AssertionError.class);
        assertThatThrownBy(() -> list(401, PROBLEM, header, UNAUTHORIZED.replace("401", "403")))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("403");
    }

    @Test
    void anErrorOutsideOfAllOperationsMustBeAProblemToo() {
        answer = new Answer(404, "text/html", Map.of(), "<h1>Not found</h1>");
        assertThatThrownBy(() -> client().get("/v1/nothing"))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("text/html");
        answer = new Answer(404, PROBLEM, Map.of(), UNAUTHORIZED.replace("401", "404"));
        assertThatCode(() -> client().get("/v1/nothing")).doesNotThrowAnyException();
        answer = new Answer(405, PROBLEM, Map.of(), UNAUTHORIZED.replace("\"title\"", "\"titel\""));
        assertThatThrownBy(() -> client().delete("/v1/project-logs"))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("titel");
    }

    @Test
    void badInputIsADifferenceWhereRequestsAreCheckedToo() {
        answer = new Answer(200, JSON, LINK, PAGE.formatted(RECORD));
        assertThatThrownBy(() -> given().filter(ContractFilter.ofRequestsAndAnswers())
                        .header("Authorization", "Bearer x")
                        .get(url("/v1/project-logs?limit=0")))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("limit");
        assertThatCode(() -> given().filter(ContractFilter.ofRequestsAndAnswers())
                        .header("Authorization", "Bearer x")
                        .get(url("/v1/project-logs?limit=1&start=2025-09-03T11:15:19.391447Z")))
                .doesNotThrowAnyException();
        answer = new Answer(201, JSON, LOCATION, RECORD);
        assertThatThrownBy(() -> given().filter(ContractFilter.ofRequestsAndAnswers())
                        .header("Authorization", "Bearer x")
                        .contentType(JSON)
                        .body("""
                                {"action": "login", "akshun": 1}""")
                        .post(url("/v1/project-logs")))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("akshun");
    }

    @Test
    void calledOperationsAreKnownAndTheOthersAreMissing() {
        list(200, JSON, LINK, PAGE.formatted(RECORD));
        assertThat(CalledOperations.missing())
                .doesNotContain("listProjectLogs")
                .isSubsetOf(ContractFilter.operationIds());
    }

    private void list(int status, String mediaType, Map<String, String> headers, String body) {
        answer = new Answer(status, mediaType, headers, body);
        client().get(url("/v1/project-logs"));
    }

    private void append(int status, String body) {
        append("/v1/project-logs", status, body);
    }

    private void append(String path, int status, String body) {
        answer = new Answer(status, JSON, LOCATION, body);
        client().contentType(JSON).body("not checked").post(url(path));
    }

    private RequestSpecification client() {
        return given().baseUri("http://localhost")
                .port(server.getAddress().getPort())
                .filter(ContractFilter.ofAnswers());
    }

    private String url(String path) {
        return "http://localhost:" + server.getAddress().getPort() + path;
    }

    private void answer(HttpExchange exchange) throws IOException {
        exchange.getRequestBody().readAllBytes();
        answer.headers.forEach(exchange.getResponseHeaders()::set);
        exchange.getResponseHeaders().set("Content-Type", answer.mediaType);
        byte[] body = answer.body.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(answer.status, body.length == 0 ? -1 : body.length);
        try (OutputStream out = exchange.getResponseBody()) {
            out.write(body);
        }
    }
}
