package dev.annals.edges.viewer;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.ExtractableResponse;
import io.restassured.response.Response;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How the viewer's files are served, and what may not be in them. */
@QuarkusTest
class ViewerFilesTest {

    @ParameterizedTest
    @CsvSource({
        "/, text/html",
        "/index.html, text/html",
        "/viewer.js, text/javascript",
        "/text.js, text/javascript",
        "/api.js, text/javascript",
        "/columns.js, text/javascript",
        "/days.js, text/javascript",
        "/facets.js, text/javascript",
        "/projects.js, text/javascript",
        "/proof.js, text/javascript",
        "/query.js, text/javascript",
        "/record.js, text/javascript",
        "/rows.js, text/javascript",
        "/share.js, text/javascript",
        "/streams.js, text/javascript",
        "/times.js, text/javascript",
        "/verify.js, text/javascript",
        "/views.js, text/javascript",
        "/viewer.css, text/css",
        "/icon.svg, image/svg+xml"
    })
    void everyFileIsServedUnderAStrictPolicyAndAskedForAgainEachTime(String path, String type) {
        ExtractableResponse<Response> answer =
                given().get(path).then().statusCode(200).extract();
        assertThat(answer.contentType()).startsWith(type);
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
    void thePagesThatTheSettingsNameMayShowItInAFrame() {
        ViewerRoutes routes =
                new ViewerRoutes(() -> Optional.of(List.of("https://a.example.org", "https://b.example.org:8443")));
        assertThat(routes.policy()).endsWith("; frame-ancestors https://a.example.org https://b.example.org:8443");
        assertThat(new ViewerRoutes(Optional::empty).policy()).endsWith("; frame-ancestors 'none'");
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
    void whatIsNoFileOfTheViewerStaysAProblem(String path) {
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
    @ValueSource(
            strings = {
                "/viewer.js",
                "/text.js",
                "/api.js",
                "/columns.js",
                "/days.js",
                "/facets.js",
                "/projects.js",
                "/proof.js",
                "/query.js",
                "/record.js",
                "/rows.js",
                "/share.js",
                "/streams.js",
                "/times.js",
                "/verify.js",
                "/views.js"
            })
    void noTextEverBecomesMarkupOrCode(String path) {
        assertThat(text(path))
                .doesNotContainPattern(
                        "innerHTML|outerHTML|insertAdjacentHTML|document\\.write|srcdoc|eval\\(|new Function|https?://(?!www\\.w3\\.org/2000/svg)");
    }

    private static String text(String path) {
        return given().get(path).then().statusCode(200).extract().asString();
    }
}
