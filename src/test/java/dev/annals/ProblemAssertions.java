package dev.annals;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import io.restassured.mapper.ObjectMapperType;
import io.restassured.response.ExtractableResponse;
import io.restassured.response.Response;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Assertions that hold for every problem. */
public final class ProblemAssertions {

    /** Texts that only an exception's message or stack trace has. */
    private static final String[] INTERNALS = {
        "Exception",
        "dev.annals",
        "java.",
        "jakarta",
        "jackson",
        "Stream",
        "Feature",
        "Source",
        "relation",
        "constraint",
        "\tat ",
        "\\tat "
    };

    private ProblemAssertions() {}

    /** A problem of this type, {@code null} being {@code about:blank}, that tells nothing of the service's inside. */
    public static ExtractableResponse<Response> assertProblem(
            ExtractableResponse<Response> answer, int status, @Nullable String slug) {
        assertProblem(answer.statusCode(), answer.contentType(), answer.asString(), status, slug);
        return answer;
    }

    /** The same for what another client has received. */
    public static void assertProblem(
            int actualStatus, String mediaType, String body, int status, @Nullable String slug) {
        assertThat(actualStatus).as(body).isEqualTo(status);
        assertThat(mediaType).as(body).isEqualTo("application/problem+json");
        String type = slug == null ? "about:blank" : "urn:annals:problem:" + slug;
        assertThat(body).contains("\"type\":\"" + type + "\"", "\"status\":" + status);
        assertNoInternals(body);
    }

    /** The pointers of a problem's errors. REST Assured would compile each path as a script, hundreds of times. */
    public static List<String> pointers(ExtractableResponse<Response> problem) {
        return problem.as(Errors.class, ObjectMapperType.JACKSON_2).errors().stream()
                .map(Errors.Place::pointer)
                .toList();
    }

    @JsonIgnoreProperties(ignoreUnknown = true)
    private record Errors(List<Place> errors) {

        @JsonIgnoreProperties(ignoreUnknown = true)
        private record Place(String pointer) {}
    }

    public static void assertNoInternals(String body) {
        assertThat(body).doesNotContain(INTERNALS);
    }
}
