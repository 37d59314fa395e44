package dev.annals.edges.viewer;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.ExtractableResponse;
import io.restassured.response.Response;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The viewer's files are served with a strict policy, and contain no way from text to markup. */
@QuarkusTest
class ViewerFilesTest {

    private static final Path FOLDER = Path.of("src/main/resources/META-INF/resources");

    static List<String> files() throws IOException {
        try (Stream<Path> files = Files.list(FOLDER)) {
            return Stream.concat(Stream.of("/"), files.map(file -> "/" + file.getFileName()))
                    .toList();
        }
    }

    static List<String> scripts() throws IOException {
        return files().stream().filter(path -> path.endsWith(".js")).toList();
    }

    private static String mediaType(String path) {
        return switch (path.substring(path.indexOf('.') + 1)) {
            case "js" -> "text/javascript";
            case "css" -> "text/css";
            case "svg" -> "image/svg+xml";
            default -> "text/html";
        };
    }

    @ParameterizedTest
    @MethodSource("files")
    void everyFileIsServedUnderAStrictPolicyAndCheckedForChangesEachTime(String path) {
        ExtractableResponse<Response> answer =
                given().get(path).then().statusCode(200).extract();
        assertThat(answer.contentType()).startsWith(mediaType(path));
        assertThat(answer.header("Content-Security-Policy"))
                .startsWith("default-src 'none'; script-src 'self';")
                .contains("frame-ancestors 'none'", "require-trusted-types-for 'script'")
                .doesNotContain("unsafe", "*", "http", "data:");
        assertThat(answer.header("X-Content-Type-Options")).isEqualTo("nosniff");
        assertThat(answer.header("Referrer-Policy")).isEqualTo("no-referrer");
        assertThat(answer.headers().getValues("Cache-Control")).containsExactly("no-cache");

        String tag = answer.header("ETag");
        Response again = given().header("If-None-Match", tag).get(path);
        assertThat(again.statusCode()).isEqualTo(304);
        assertThat(given().header("If-None-Match", "\"other\"").get(path).statusCode())
                .isEqualTo(200);

        Response head = given().head(path);
        assertThat(head.statusCode()).isEqualTo(200);
        assertThat(head.header("Content-Length")).isEqualTo(answer.header("Content-Length"));
        assertThat(head.header("Content-Security-Policy")).isEqualTo(answer.header("Content-Security-Policy"));
    }

    @Test
    void thePagesThatTheSettingsNameMayShowItInAFrameButNotTheAdministration() {
        List<String> settings = List.of("https://a.example.org", "https://b.example.org:8443");
        assertThat(ViewerRoutes.policy("/", settings))
                .endsWith("; frame-ancestors https://a.example.org https://b.example.org:8443");
        assertThat(ViewerRoutes.policy("/admin.html", settings)).endsWith("; frame-ancestors 'none'");
        assertThat(ViewerRoutes.policy("/", List.of())).endsWith("; frame-ancestors 'none'");
    }

    @ParameterizedTest
    @ValueSource(strings = {"/", "/index.html", "/viewer.js"})
    void theFilesCanOnlyBeRead(String path) {
        for (String method : new String[] {"POST", "PUT", "DELETE", "PATCH"}) {
            ExtractableResponse<Response> answer =
                    given().request(method, path).then().statusCode(405).extract();
            assertThat(answer.header("Allow")).isEqualTo("GET, HEAD");
            assertThat(answer.contentType()).isEqualTo("application/problem+json");
            assertThat(answer.<String>path("type")).isEqualTo("urn:annals:problem:method-not-allowed");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"/nothing.js", "/viewer.js/", "/sub/", "/META-INF/openapi.yaml", "/application.properties"})
    void aPathThatIsNoFileOfTheViewerIsAProblem(String path) {
        ExtractableResponse<Response> answer =
                given().get(path).then().statusCode(404).extract();
        assertThat(answer.contentType()).isEqualTo("application/problem+json");
    }

    @Test
    void thePageNamesNoOtherHostAndWorksUnderAPrefix() {
        Matcher reference = Pattern.compile("(?:src|href|action)=\"([^\"]*)\"").matcher(text("/"));
        int references = 0;
        while (reference.find()) {
            references++;
            assertThat(reference.group(1)).doesNotStartWith("/").doesNotContain(":");
        }
        assertThat(references).isGreaterThan(3);
    }

    @ParameterizedTest
    @MethodSource("scripts")
    void noTextEverBecomesMarkupOrCode(String path) {
        assertThat(text(path))
                .doesNotContainPattern(
                        "innerHTML|outerHTML|insertAdjacentHTML|document\\.write|srcdoc|eval\\(|new Function|https?://(?!www\\.w3\\.org/2000/svg)");
    }

    private static String text(String path) {
        return given().get(path).then().statusCode(200).extract().asString();
    }
}
