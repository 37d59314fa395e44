package dev.annals.access.requests;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import dev.annals.BesideTheService;
import dev.annals.OwnClasses;
import io.swagger.v3.oas.models.OpenAPI;
import io.swagger.v3.parser.OpenAPIV3Parser;
import jakarta.ws.rs.HttpMethod;
import jakarta.ws.rs.Path;
import java.lang.annotation.Annotation;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is written of a request, whatever it was. */
@BesideTheService
class RequestLineTest {

    private static final String TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
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
    void everyOperationOfTheContractIsAResourceMethodOfItsNameAtItsRoute() {
        OpenAPI contract = new OpenAPIV3Parser().read("openapi.yaml");
        Set<String> operations = new TreeSet<>();
        contract.getPaths()
                .forEach((path, item) -> item.readOperationsMap()
                        .forEach((method, operation) ->
                                operations.add(method + " " + new Operation(operation.getOperationId(), path))));

        Set<String> resources = new TreeSet<>();
        for (JavaClass resource : OwnClasses.all()
                .that(DescribedPredicate.describe("resources", found -> found.isAnnotatedWith(Path.class)))) {
            for (Method method : resource.reflect().getDeclaredMethods()) {
                for (Annotation annotation : method.getAnnotations()) {
                    HttpMethod verb = annotation.annotationType().getAnnotation(HttpMethod.class);
                    if (verb != null) {
                        resources.add(verb.value() + " " + Operation.of(method));
                    }
                }
            }
        }

        assertThat(resources)
                .filteredOn(resource -> !resource.contains("name=other"))
                .containsExactlyElementsOf(operations);
        assertThat(resources)
                .filteredOn(resource -> resource.contains("name=other"))
                .allMatch(resource -> resource.matches("GET Operation\\[name=other, route=/q/(health|openapi)]"));
    }
}
