package dev.annals.access.requests;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.BesideTheService;
import dev.annals.OwnClasses;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.access.requests.RequestLine.Trace;
import dev.annals.access.sessions.TokenFilter;
import dev.annals.kernel.http.ResourceMethods;
import io.swagger.v3.parser.OpenAPIV3Parser;
import jakarta.ws.rs.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A request line shows every request, and its input controls nothing. */
@BesideTheService
class RequestLineTest {

    private static final String TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
    /** The wording of the contract. */
    private static final Pattern NEEDS = Pattern.compile("Needs\\s+a\\s+token\\s+with\\s+the\\s+scope\\s+`(\\w+)`");

    private static final UUID PROJECT = UUID.randomUUID();

    private static RequestLine line(String method, String path, String agent) {
        return new RequestLine(
                new Trace(TRACE, null),
                RequestLine.cut(method, RequestLine.MAX_METHOD),
                "other",
                RequestLine.cut(path, RequestLine.MAX_PATH),
                404,
                RequestLine.Outcome.REFUSED,
                "not-found",
                PROJECT,
                null,
                "127.0.0.1",
                RequestLine.cut(agent, RequestLine.MAX_AGENT),
                12_034_567,
                7,
                1_234);
    }

    @Test
    void aLineSaysWhatTheRequestWas() {
        assertThat(line("GET", "/v1/x", "curl/8").toString())
                .isEqualTo("trace=" + TRACE
                        + " method=GET operation=other path=/v1/x status=404 outcome=refused cause=not-found project="
                        + PROJECT + " address=127.0.0.1 agent=curl/8 ms=12.034 received=7 sent=1234");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\n2026-11-23 ERROR all is lost",
                "\r\u001b[2J\u0000\u009b",
                "\" status=200 outcome=success",
                "\",\"status\":200,\"x\":\"\\",
                "\u202egpj.exe\u2028",
                "\ud800 \ud83d\ude00",
                "a b=c"
            })
    void hostileTextEndsNoLineAndPassesForNoOtherField(String hostile) throws Exception {
        RequestLine line = line(hostile, hostile, hostile);

        JsonNode read = new ObjectMapper().readTree(line.asJson());
        assertThat(read.get("agent").asText()).isEqualTo(hostile);
        assertThat(read.get("path").asText()).isEqualTo(hostile);
        assertThat(read.get("status").asInt()).isEqualTo(404);
        for (String text : List.of(line.asJson(), line.toString())) {
            assertThat(text.chars()).allMatch(c -> c >= ' ' && c <= '~');
        }
        // Outside of quotes, each name is there once.
        String outside = line.toString().replaceAll("\"(\\\\.|[^\"\\\\])*\"", "\"\"");
        assertThat(outside)
                .containsOnlyOnce("status=")
                .containsOnlyOnce("outcome=")
                .doesNotContain("b=c");
    }

    @Test
    void aLineIsBoundedHoweverLongTheRequestIs() {
        String longest = "\u0001".repeat(100_000);

        assertThat(line(longest, longest, longest).asJson()).hasSizeLessThan(3_000);
        assertThat(line(longest, longest, longest).toString()).hasSizeLessThan(3_000);
    }

    @Test
    void aTokenThatIsWhereItDoesNotBelongIsNotWritten() {
        String token = "annals_" + "x".repeat(43);

        assertThat(line("GET", "/v1/" + token, "mine is " + token).asJson())
                .doesNotContain("xxx")
                .contains("/v1/annals_\\u2026");
    }

    @Test
    void aTraceIsTakenOverIfItIsValid() {
        assertThat(Trace.of(List.of("00-" + TRACE + "-00f067aa0ba902b7-01")))
                .isEqualTo(new Trace(TRACE, "00f067aa0ba902b7"));
        assertThat(Trace.of(List.of("cc-" + TRACE + "-00f067aa0ba902b7-01-more"))
                        .id())
                .isEqualTo(TRACE);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
                "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
                "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n",
                "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01more"
            })
    void anyOtherTraceIsReplacedByANewOne(String header) {
        Trace trace = Trace.of(List.of(header));

        assertThat(trace.id()).matches("[0-9a-f]{32}").isNotEqualTo(TRACE);
        assertThat(trace.parent()).isNull();
        assertThat(Trace.of(List.of()).id()).isNotEqualTo(trace.id());
        String valid = "00-" + TRACE + "-00f067aa0ba902b7-01";
        assertThat(Trace.of(List.of(valid, valid)).id()).isNotEqualTo(TRACE);
    }

    @Test
    void everyOperationOfTheContractIsAResourceMethodThatRequiresTheScopeThatTheContractNames() {
        Set<String> operations = new TreeSet<>();
        new OpenAPIV3Parser()
                .read("openapi.yaml")
                .getPaths()
                .forEach((path, item) -> item.readOperationsMap()
                        .forEach((method, operation) -> operations.add(method + " "
                                + new Operation(operation.getOperationId(), path) + " " + scope(operation))));

        Set<String> resources = new TreeSet<>();
        Set<String> others = new TreeSet<>();
        OwnClasses.all().stream()
                .filter(found -> found.isAnnotatedWith(Path.class))
                .flatMap(found -> ResourceMethods.of(found.reflect()))
                .forEach(resource -> {
                    Operation operation = Operation.of(resource.method());
                    String access = scope(TokenFilter.required(resource.method()));
                    if (operation.name().equals(Operation.OTHER.name())) {
                        others.add(resource.httpMethod() + " " + resource.path() + " " + access);
                    } else {
                        resources.add(resource.httpMethod() + " " + operation + " " + access);
                    }
                });

        assertThat(resources).containsExactlyElementsOf(operations);
        assertThat(others)
                .containsExactly(
                        "GET /q/health/live no token",
                        "GET /q/health/ready no token",
                        "GET /q/health/started no token",
                        "GET /q/openapi no token");
    }

    /** The scope that an operation's description names. */
    private static String scope(io.swagger.v3.oas.models.Operation operation) {
        if (operation.getSecurity() != null && operation.getSecurity().isEmpty()) {
            return "no token";
        }
        Matcher needed = NEEDS.matcher(operation.getDescription());
        return needed.find() ? needed.group(1) : "any token";
    }

    private static String scope(Requires requires) {
        if (!requires.token()) {
            return "no token";
        }
        if (requires.value().length == 0) {
            return "any token";
        }
        Scope scope = requires.value()[0];
        return scope.ofTokens().text();
    }
}
