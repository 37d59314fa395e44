package dev.annals.kernel.http;

import static dev.annals.ProblemAssertions.assertProblem;
import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.ExtractableResponse;
import io.restassured.response.Response;
import jakarta.inject.Inject;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@QuarkusTest
class EveryErrorIsAProblemTest {

    @Inject
    AuditLogFixture log;

    @TestHTTPResource("/")
    URI base;

    @Test
    void anOwnProblemGoesOutWithItsTypeErrorsAndMembers() {
        ExtractableResponse<Response> answer = problem(given().get("/failing/problem"), 422, "invalid-record");
        assertThat(answer.<String>path("title")).isEqualTo("Invalid record");
        assertThat(answer.<String>path("detail")).isEqualTo("Correct it");
        assertThat(answer.<Integer>path("head")).isEqualTo(17);
        assertThat(answer.<String>path("errors[0].pointer")).isEqualTo("/0/actor/type");
        assertThat(answer.<String>path("errors[0].detail")).isEqualTo("must be a string");
    }

    @Test
    void a503SaysWhenToTryAgainInWholeSecondsRoundedUp() {
        ExtractableResponse<Response> answer = problem(given().get("/failing/queue-full"), 503, "queue-full");
        assertThat(answer.header("Retry-After")).isEqualTo("3");
        assertThat(answer.<Integer>path("retry_after")).isEqualTo(3);
        assertThat(problem(given().get("/failing/bare-status"), 503, "unavailable")
                        .header("Retry-After"))
                .isEqualTo("1");
        assertThat(problem(given().get("/failing/status?of=503"), 503, "unavailable")
                        .header("Retry-After"))
                .isEqualTo("1");
    }

    @ParameterizedTest
    @ValueSource(strings = {"unexpected", "unexpected-later", "error", "status?of=500"})
    void anUnexpectedExceptionIsAnsweredWithNothingButTheIdItIsLoggedUnder(String path) {
        List<LogRecord> logged = new CopyOnWriteArrayList<>();
        Handler listener = listener(logged);
        Logger log = Logger.getLogger(ProblemMapper.class.getName());
        log.addHandler(listener);
        try {
            ExtractableResponse<Response> answer = problem(given().get("/failing/" + path), 500, "internal-error");
            String instance = answer.path("instance");
            assertThat(instance).startsWith("urn:uuid:");
            assertThat(logged).hasSize(1);
            assertThat(new SimpleFormatter().formatMessage(logged.get(0))).contains(instance);
            assertThat(logged.get(0).getThrown()).isNotNull();
        } finally {
            log.removeHandler(listener);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"/nothing", "/v1/nothing/here", "/failing/nothing", "/q/nothing", "/index.php", "/a//b"})
    void anUnknownAddressIsNotFound(String path) {
        problem(given().get(path), 404, "not-found");
        problem(given().body("{}").contentType("application/json").post(path), 404, "not-found");
    }

    @Test
    void aWrongMethodIsToldTheRightOnes() {
        String allowed = problem(given().delete("/failing/problem"), 405, "method-not-allowed")
                .header("Allow");
        assertThat(allowed).isEqualTo("GET, HEAD, OPTIONS");
        assertThat(problem(given().put("/failing/body"), 405, "method-not-allowed")
                        .header("Allow"))
                .isEqualTo("OPTIONS, POST");
    }

    /** Each address of the contract, also with a name that has slashes. */
    @Test
    void optionsAndEach405NameTheMethodsThatTheContractHasAtEachAddress() throws IOException {
        Map<String, Set<String>> contract = methodsOfTheContract();
        assertThat(contract).hasSizeGreaterThan(40);
        contract.forEach((template, methods) -> {
            String path = template.replace("{tile}", "x001/234").replaceAll("\\{\\w+\\}", "1");
            String allowed = String.join(", ", methods);
            given().options(path).then().statusCode(200).header("Allow", allowed);
            Stream.of("DELETE", "GET", "PATCH", "POST", "PUT", "TRACE")
                    .filter(method -> !methods.contains(method))
                    .forEach(other -> assertThat(problem(given().request(other, path), 405, "method-not-allowed")
                                    .header("Allow"))
                            .as("%s %s", other, path)
                            .isEqualTo(allowed));
        });
    }

    private static Map<String, Set<String>> methodsOfTheContract() throws IOException {
        Map<String, Set<String>> found = new TreeMap<>();
        Set<String> methods = Set.of();
        Matcher line = Pattern.compile("(?m)^  (?<path>/\\S+):$|^    (?<method>get|put|post|delete|patch):$")
                .matcher(Files.readString(Path.of("openapi.yaml")));
        while (line.find()) {
            if (line.group("path") != null) {
                methods = new TreeSet<>(Set.of("OPTIONS"));
                found.put(line.group("path"), methods);
            } else {
                methods.add(line.group("method").toUpperCase(Locale.ROOT));
                if (methods.contains("GET")) {
                    methods.add("HEAD");
                }
            }
        }
        return found;
    }

    @Test
    void aMediaTypeThatCannotBeHadIsNotAcceptable() {
        problem(given().accept("image/png").get("/failing/problem"), 406, "not-acceptable");
    }

    @Test
    void aMediaTypeThatIsNotReadIsUnsupported() {
        problem(given().contentType("text/csv").body("a,b").post("/failing/body"), 415, "unsupported-media-type");
    }

    @Test
    void a401NamesTheSchemeToUse() {
        assertThat(problem(given().get("/failing/status?of=401"), 401, "unauthorized")
                        .headers()
                        .getValues("WWW-Authenticate"))
                .containsExactly("Bearer");
        assertThat(problem(given().get("/failing/unauthorized"), 401, "unauthorized")
                        .headers()
                        .getValues("WWW-Authenticate"))
                .containsExactly("Basic realm=x");
    }

    @Test
    void aForbiddenRequestIsAProblem() {
        problem(given().get("/failing/status?of=403"), 403, "forbidden");
    }

    @Test
    void aStatusWithoutATypeOfItsOwnIsAboutBlank() {
        ExtractableResponse<Response> answer = problem(given().get("/failing/status?of=410"), 410, null);
        assertThat(answer.<String>path("title")).isEqualTo("Gone");
        problem(given().get("/failing/status?of=418"), 418, null);
        problem(given().get("/failing/status?of=599"), 599, null);
    }

    @Test
    void anErrorThatBringsABodyOfItsOwnIsAProblemAllTheSame() {
        problem(given().get("/failing/status-with-entity"), 410, null);
    }

    @Test
    void aRedirectionIsNoProblem() {
        given().redirects().follow(false).get("/failing/redirect").then().statusCode(303);
    }

    @Test
    void aParameterThatIsNoNumberIsAProblem() {
        problem(given().get("/failing/status?of=many"), 404, "not-found");
    }

    @Test
    void aBodyThatAnnouncesMoreThanTheLimitIsRefusedBeforeItIsRead() throws IOException {
        String answer = exchange(
                "POST /v1/project-logs",
                "Authorization: Bearer " + log.newProject().token(),
                "Connection: close",
                "Content-Type: application/json",
                "Content-Length: 1000000000000");
        assertThat(answer)
                .startsWith("HTTP/1.1 413 ")
                .containsIgnoringCase("content-type: application/problem+json")
                .contains("urn:annals:problem:body-too-large");
    }

    @Test
    void aRouteThatFailsBelowTheResourcesIsAProblem() {
        ExtractableResponse<Response> answer = problem(given().get("/failing-route/unexpected"), 500, "internal-error");
        assertThat(answer.<String>path("instance")).startsWith("urn:uuid:");
        problem(given().get("/failing-route/status"), 413, "body-too-large");
        assertThat(problem(given().get("/failing-route/problem"), 503, "unavailable")
                        .header("Retry-After"))
                .isEqualTo("1");
    }

    @Test
    void anAddressThatCannotBeDecodedIsRefusedBelowEveryHandler() throws IOException {
        String answer = exchange("GET /failing/%zz", "Connection: close");
        assertThat(answer).startsWith("HTTP/1.1 400 ").endsWith("\r\n\r\n");
    }

    /** Sends bytes as they are and reads until the service closes. */
    private String exchange(String target, String... headers) throws IOException {
        try (Socket socket = new Socket(base.getHost(), base.getPort())) {
            socket.setSoTimeout(10_000);
            OutputStream out = socket.getOutputStream();
            String request = target + " HTTP/1.1\r\nHost: x\r\n" + String.join("\r\n", headers) + "\r\n\r\n";
            out.write(request.getBytes(StandardCharsets.US_ASCII));
            out.flush();
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private static ExtractableResponse<Response> problem(Response response, int status, String slug) {
        ExtractableResponse<Response> answer = response.then().extract();
        assertProblem(answer, status, slug);
        assertThat(answer.headers().getValues("Content-Type")).hasSize(1);
        assertThat(answer.<String>path("title")).isNotBlank();
        assertThat(answer.<String>path("detail")).isNotBlank();
        assertThat(answer.asString()).doesNotContain("hunter2");
        return answer;
    }

    /** A caller who makes the service fail cannot write lines of its log. */
    @Test
    void theLineOfAnUnexpectedFailureIsBoundedAndHasNoTextThatPassesForALine() {
        List<LogRecord> logged = new CopyOnWriteArrayList<>();
        Handler listener = listener(logged);
        Logger log = Logger.getLogger(ProblemMapper.class.getName());
        log.addHandler(listener);
        try {
            String hostile = "%0a2026-11-23%20ERROR%20forged%1b%5b2J%e2%80%ae" + "x".repeat(20_000);
            given().urlEncodingEnabled(false)
                    .get("/failing/unexpected/" + hostile)
                    .then()
                    .statusCode(500);

            assertThat(logged).hasSize(1);
            String line = new SimpleFormatter().formatMessage(logged.get(0));
            assertThat(line).hasSizeLessThan(500).contains("/failing/unexpected/\\u000a2026");
            assertThat(line.chars()).allMatch(c -> c >= ' ' && c <= '~');
        } finally {
            log.removeHandler(listener);
        }
    }

    @Test
    void aClientThatGoesAwayIsNoFailureOfTheService() throws IOException {
        List<LogRecord> logged = new CopyOnWriteArrayList<>();
        Handler listener = listener(logged);
        Logger log = Logger.getLogger(ProblemMapper.class.getName());
        log.addHandler(listener);
        try {
            byte[] requests = "GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(20).getBytes(StandardCharsets.US_ASCII);
            for (int i = 0; i < 200; i++) {
                try (Socket socket = new Socket(base.getHost(), base.getPort())) {
                    socket.setSoLinger(true, 0);
                    socket.getOutputStream().write(requests);
                    // The client reads a little of the first answer, and no more.
                    socket.getInputStream().read();
                }
            }
            for (int i = 0; i < 20; i++) {
                given().get("/").then().statusCode(200);
            }
            assertThat(logged).isEmpty();
        } finally {
            log.removeHandler(listener);
        }
    }

    private static Handler listener(List<LogRecord> logged) {
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord entry) {
                logged.add(entry);
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        handler.setLevel(Level.ALL);
        return handler;
    }
}
