package dev.annals.access.tokens;

import static dev.annals.ProblemAssertions.assertNoInternals;
import static dev.annals.ProblemAssertions.assertProblem;
import static dev.annals.ProblemAssertions.pointers;
import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.annals.AuditLogFixture;
import dev.annals.ProjectTest;
import dev.annals.edges.contract.ContractFilter;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.http.Method;
import io.restassured.response.ExtractableResponse;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Scopes of tokens, and the life of projects and tokens. */
@QuarkusTest
@SuppressWarnings("OrphanedFormatString") // paths are percent-encoded
class TokenTest extends ProjectTest {

    private static final String LOGS = "/v1/project-logs";

    /** An operation with a request that would succeed. */
    private record Operation(Method method, String path, String body) {}

    private List<Operation> ofProject() {
        return List.of(
                new Operation(Method.GET, LOGS, ""),
                new Operation(Method.GET, LOGS + "/" + UUID.randomUUID(), ""),
                new Operation(Method.POST, LOGS, "{\"action\": \"a\"}"),
                new Operation(Method.POST, LOGS + "/batch", AuditLogFixture.batch("{\"action\": \"a\"}")));
    }

    private List<Operation> ofAdministration() {
        return List.of(
                new Operation(Method.POST, "/v1/projects", "{\"name\": \"project " + UUID.randomUUID() + "\"}"),
                new Operation(Method.POST, "/v1/projects/" + project.id() + "/tokens", "{\"scopes\": [\"read\"]}"));
    }

    @Test
    void everyOperationAsksForAToken() throws Exception {
        for (Operation operation : all()) {
            ExtractableResponse<Response> answer = send(operation, Map.of());
            assertProblem(answer, 401, "unauthorized");
            assertThat(answer.header("WWW-Authenticate")).isEqualTo("Bearer");
        }
        assertThat(log.checkFeed(project.id())).isZero();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "Bearer",
                "Bearer ",
                "Bearer  ",
                "annals_x",
                "Basic YWRtaW46YWRtaW4=",
                "Token annals_x",
                "Bearer annals_",
                "Bearer annals_unknown",
                "Bearer annals_x annals_y",
                "Bearer \"annals_x\"",
                "Bearer null",
                "Bearer ' or true --",
                "Bearer ümlaut",
                "BearerToken x"
            })
    void aHeaderThatHoldsNoKnownTokenIsRefused(String header) throws Exception {
        for (Operation operation : all()) {
            assertProblem(send(operation, Map.of("Authorization", header)), 401, "unauthorized");
        }
        assertProblem(
                send(ofProject().get(0), Map.of("Authorization", "Bearer " + "x".repeat(7_000))), 401, "unauthorized");
        assertThat(log.checkFeed(project.id())).isZero();
    }

    @Test
    void aTokenIsTakenExactlyAsItIs() {
        String token = project.token();
        Operation read = ofProject().get(0);
        assertThat(withToken(read, token).statusCode()).isEqualTo(200);
        assertThat(send(read, Map.of("Authorization", "bearer " + token)).statusCode())
                .isEqualTo(200);
        assertProblem(withToken(read, token.substring(0, token.length() - 1)), 401, "unauthorized");
        assertProblem(withToken(read, token + "A"), 401, "unauthorized");
        assertProblem(withToken(read, token.toLowerCase(Locale.ROOT)), 401, "unauthorized");
        assertProblem(withToken(read, token.substring("annals_".length())), 401, "unauthorized");
    }

    @Test
    void aTokenAllowsItsScopesAndNoOther() throws Exception {
        String reader = log.newToken(project.id(), "read");
        String writer = log.newToken(project.id(), "write");
        Operation read = ofProject().get(0);
        Operation find = ofProject().get(1);
        Operation append = ofProject().get(2);

        assertThat(withToken(read, reader).statusCode()).isEqualTo(200);
        assertProblem(withToken(find, reader), 404, "not-found");
        assertProblem(withToken(append, reader), 403, "forbidden");
        assertProblem(withToken(read, writer), 403, "forbidden");
        assertProblem(withToken(find, writer), 403, "forbidden");
        assertThat(withToken(append, writer).statusCode()).isEqualTo(201);
        assertThat(log.checkFeed(project.id())).isEqualTo(1);
    }

    @Test
    void theAdminTokenReadsTheAdministrationsFeedAndWritesNone() throws Exception {
        List<Operation> operations = ofProject();
        assertThat(withToken(operations.get(0), AuditLogFixture.ADMIN_TOKEN).<String>path("results[0].action"))
                .isEqualTo("annals.project.create");
        assertProblem(withToken(operations.get(1), AuditLogFixture.ADMIN_TOKEN), 404, "not-found");
        for (Operation operation : operations.subList(2, operations.size())) {
            assertProblem(withToken(operation, AuditLogFixture.ADMIN_TOKEN), 403, "forbidden");
        }
        assertThat(log.checkFeed(project.id())).isZero();
    }

    @Test
    void theTokenOfAProjectAdministersNothing() {
        for (Operation operation : ofAdministration()) {
            assertProblem(withToken(operation, project.token()), 403, "forbidden");
        }
    }

    @Test
    void aCallerWithoutTheScopeIsRefusedBeforeTheBodyIsRead() {
        for (Operation operation : all()) {
            if (operation.method() == Method.POST) {
                Operation broken = new Operation(Method.POST, operation.path(), "{");
                assertProblem(send(broken, Map.of()), 401, "unauthorized");
            }
        }
    }

    @Test
    void aTokenIsShownOnceAndStoredOnlyAsItsHash() throws Exception {
        ExtractableResponse<Response> answer = admin().body("""
                        {"scopes": ["write", "read"], "description": "The ünit test 🚀"}""")
                .post("/v1/projects/" + project.id() + "/tokens")
                .then()
                .statusCode(201)
                .extract();

        String token = answer.path("token");
        assertThat(token).matches("annals_[A-Za-z0-9]{49}");
        assertThat(answer.header("Cache-Control")).isEqualTo("no-store");
        byte[] hash = MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
        try (Connection connection = log.connect();
                PreparedStatement select = connection.prepareStatement(
                        "select token_hash, description, strpos(t::text, ?) from annals.access_token t where id = ?::uuid")) {
            select.setString(1, token.substring("annals_".length()));
            select.setString(2, answer.path("id"));
            try (ResultSet row = select.executeQuery()) {
                assertThat(row.next()).isTrue();
                assertThat(row.getBytes(1)).isEqualTo(hash);
                assertThat(row.getString(2)).isEqualTo("The ünit test 🚀");
                assertThat(row.getInt(3)).isZero();
            }
        }
    }

    @Test
    void tokensAreNeverTheSame() {
        assertThat(Stream.generate(() -> log.newToken(project.id(), "read")).limit(20))
                .doesNotHaveDuplicates();
    }

    @Test
    void aProjectsNameIsTakenOnceHoweverManyAskForIt() throws Exception {
        String body = "{\"name\": \"the only one " + UUID.randomUUID() + "\"}";
        ExecutorService threads = Executors.newFixedThreadPool(8);
        try {
            List<Callable<ExtractableResponse<Response>>> calls = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                calls.add(() -> admin().body(body).post("/v1/projects").then().extract());
            }
            List<Integer> statuses = new ArrayList<>();
            for (Future<ExtractableResponse<Response>> answer : threads.invokeAll(calls)) {
                statuses.add(answer.get().statusCode());
            }
            assertThat(statuses).containsOnly(201, 409).containsOnlyOnce(201);
        } finally {
            threads.shutdownNow();
        }
        assertProblem(admin().body(body).post("/v1/projects").then().extract(), 409, "project-name-taken");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "a",
                "Ünïcode 名前 🚀",
                "  spaces around ",
                "a/b?c#d",
                "\\\"quoted\\\"",
                "'; drop table project; --",
                "255"
            })
    void aNameIsReturnedAsItWasSent(String name) {
        String own = name.equals("255") ? "😀".repeat(255 - 36) + UUID.randomUUID() : name + UUID.randomUUID();
        ExtractableResponse<Response> answer = admin().body(
                        ("{\"name\": \"" + own + "\"}").getBytes(StandardCharsets.UTF_8))
                .post("/v1/projects")
                .then()
                .statusCode(201)
                .extract();
        assertThat(answer.<String>path("name")).isEqualTo(own.replace("\\\"", "\""));
        assertThat(UUID.fromString(answer.path("id")).version()).isEqualTo(7);
    }

    static Stream<Arguments> wrongProjects() {
        return Stream.of(
                arguments("{}", "/name"),
                arguments("{\"name\": null}", "/name"),
                arguments("{\"name\": 7}", "/name"),
                arguments("{\"name\": [\"a\"]}", "/name"),
                arguments("{\"name\": \"\"}", "/name"),
                arguments("{\"name\": \" \\t\"}", "/name"),
                arguments("{\"name\": \"" + "n".repeat(256) + "\"}", "/name"),
                arguments("{\"name\": \" \\u00a0\\u0085\\u2003\"}", "/name"),
                arguments("{\"name\": \"a\\u0000\"}", "/name"),
                arguments("{\"name\": \"\\ud83d\"}", "/name"),
                arguments("{\"name\": \"a\", \"colour\": 1}", "/colour"),
                arguments("{\"name\": \"a\", \"a/b~\": {}}", "/a~1b~0"),
                arguments("{\"Name\": \"a\"}", "/Name /name"),
                arguments("[]", ""),
                arguments("null", ""),
                arguments("\"a\"", ""),
                arguments("7", ""));
    }

    @ParameterizedTest
    @MethodSource("wrongProjects")
    void aProjectThatBreaksARuleIsRefused(String body, String pointers) {
        assertInvalidBody("/v1/projects", body, pointers);
    }

    @ParameterizedTest
    @ValueSource(strings = {"2998-12-31T23:59:60Z", "2999-01-01T00:00Z", "2999-01-01t01:00:00+01:00"})
    void aTokenEndsAtATimeAsRecordsHaveThem(String time) {
        // The validator of requests takes no leap second for a date-time.
        String body = "{\"scopes\": [\"read\"], \"expires_at\": \"" + time + "\"}";
        Response token = wrongAdmin().body(body).post("/v1/projects/" + project.id() + "/tokens");
        assertThat(token.statusCode()).isEqualTo(201);
        assertThat(token.<String>path("expires_at")).isEqualTo("2999-01-01T00:00:00Z");
    }

    static Stream<Arguments> wrongTokens() {
        return Stream.of(
                arguments("{}", "/scopes"),
                arguments("{\"scopes\": null}", "/scopes"),
                arguments("{\"scopes\": \"read\"}", "/scopes"),
                arguments("{\"scopes\": []}", "/scopes"),
                arguments(
                        "{\"scopes\": [\"read\", \"write\", \"sequence\", \"redact\", \"link\", \"stream\", \"read\"]}",
                        "/scopes"),
                arguments("{\"scopes\": [\"read\", \"read\"]}", "/scopes/1"),
                arguments("{\"scopes\": [\"admin\"]}", "/scopes"),
                arguments("{\"scopes\": [\"read\", \"audit\"]}", "/scopes"),
                arguments("{\"scopes\": [\"read\"], \"expires_at\": \"2001-01-01T00:00:00Z\"}", "/expires_at"),
                arguments("{\"scopes\": [\"read\"], \"expires_at\": \"tomorrow\"}", "/expires_at"),
                arguments(
                        "{\"scopes\": [\"read\"], \"allowed_addresses\": [\"192.0.2.0/24\", \"192.0.2.1/24\", \"x\"]}",
                        "/allowed_addresses/1 /allowed_addresses/2"),
                arguments("{\"scopes\": [\"READ\"]}", "/scopes/0"),
                arguments("{\"scopes\": [7, null]}", "/scopes/0 /scopes/1"),
                arguments("{\"scopes\": [\"read\"], \"description\": 7}", "/description"),
                arguments("{\"scopes\": [\"read\"], \"description\": \"" + "d".repeat(1025) + "\"}", "/description"),
                arguments("{\"scopes\": [\"read\"], \"description\": \"\\u0000\"}", "/description"),
                arguments("{\"scopes\": [\"read\"], \"expires\": \"never\"}", "/expires"),
                arguments("[\"read\"]", ""));
    }

    @ParameterizedTest
    @MethodSource("wrongTokens")
    void aTokenThatBreaksARuleIsRefused(String body, String pointers) {
        assertInvalidBody("/v1/projects/" + project.id() + "/tokens", body, pointers);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                "{",
                "{\"name\": \"a\"",
                "{\"name\": \"a\",}",
                "{\"name\": \"a\"} {}",
                "{'name': 'a'}",
                "{\"name\": \"a\", \"name\": \"b\"}",
                "{\"name\": \"\\x\"}",
                "{\"name\": /* */ 1}",
                "{\"name\": NaN}",
                "nope"
            })
    void aBodyThatIsNoJsonIsRefused(String body) {
        assertMalformed(body.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void bytesThatAreNoTextAreRefused() {
        assertMalformed(new byte[] {'{', '"', (byte) 0xFF, '"', ':', '1', '}'});
        assertMalformed(new byte[] {0, 0, 0, '{', (byte) 0xFF, (byte) 0xFF, (byte) 0xFF, (byte) 0xFF});
        assertMalformed("{\"name\": \"ä\"}".getBytes(StandardCharsets.ISO_8859_1));
        assertMalformed("{\"name\": \"a\"}".getBytes(StandardCharsets.UTF_16));
    }

    @Test
    void deepNestingIsRefused() {
        for (int depth : List.of(100, 1_001, 20_000)) {
            String arrays = "[".repeat(depth) + "]".repeat(depth);
            for (String body : List.of(arrays, "{\"name\": " + arrays + "}")) {
                for (Operation operation : ofAdministration()) {
                    ExtractableResponse<Response> answer = wrongAdmin()
                            .body(body)
                            .post(operation.path())
                            .then()
                            .extract();
                    assertThat(answer.statusCode()).as(answer.asString()).isIn(400, 422);
                    assertNoInternals(answer.asString());
                }
            }
        }
    }

    @Test
    void aLargeBodyIsRefused() {
        for (Operation operation : ofAdministration()) {
            String body = "{\"name\": \"" + "n".repeat(65_536) + "\"}";
            assertProblem(wrongAdmin().body(body).post(operation.path()).then().extract(), 413, "body-too-large");
            assertProblem(
                    wrongAdmin()
                            .header("Content-Encoding", "zstd")
                            .body("{}")
                            .post(operation.path())
                            .then()
                            .extract(),
                    415,
                    "unsupported-media-type");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"00000000-0000-0000-0000-000000000000", "1-1-1-1-1", "no%20such%20project", "%00", "7"})
    void aTokenForAProjectThatDoesNotExistIsRefused(String id) {
        assertProblem(
                wrongAdmin()
                        .urlEncodingEnabled(false)
                        .body("{\"scopes\": [\"read\"]}")
                        .post("/v1/projects/" + id + "/tokens")
                        .then()
                        .extract(),
                404,
                "not-found");
    }

    private void assertMalformed(byte[] body) {
        for (Operation operation : ofAdministration()) {
            RequestSpecification request = wrongAdmin();
            ExtractableResponse<Response> answer = (body.length == 0 ? request : request.body(body))
                    .post(operation.path())
                    .then()
                    .extract();
            assertProblem(answer, 400, "malformed-json");
        }
    }

    private void assertInvalidBody(String path, String body, String pointers) {
        ExtractableResponse<Response> answer =
                wrongAdmin().body(body).post(path).then().extract();
        assertProblem(answer, 422, "invalid-body");
        assertThat(pointers(answer)).containsExactlyInAnyOrder(pointers.split(" ", -1));
    }

    private List<Operation> all() {
        List<Operation> all = new ArrayList<>(ofProject());
        all.addAll(ofAdministration());
        return all;
    }

    private static ExtractableResponse<Response> withToken(Operation operation, String token) {
        return send(operation, Map.of("Authorization", "Bearer " + token));
    }

    private static ExtractableResponse<Response> send(Operation operation, Map<String, String> headers) {
        RequestSpecification request = given().headers(headers);
        if (!operation.body().isEmpty()) {
            request.contentType("application/json").body(operation.body());
        }
        return request.request(operation.method(), operation.path()).then().extract();
    }

    private static RequestSpecification admin() {
        return given().filter(ContractFilter.ofRequestsAndAnswers())
                .header("Authorization", "Bearer " + AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json");
    }

    private static RequestSpecification wrongAdmin() {
        return given().header("Authorization", "Bearer " + AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json");
    }
}
