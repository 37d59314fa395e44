package dev.annals.edges.contract;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import io.quarkus.test.junit.QuarkusTest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@QuarkusTest
class OpenApiDocumentTest {

    @Test
    void theServedDocumentIsTheFile() throws IOException {
        byte[] served = given().get("/q/openapi")
                .then()
                .statusCode(200)
                .contentType("application/yaml;charset=UTF-8")
                .extract()
                .asByteArray();

        assertThat(served).isEqualTo(Files.readAllBytes(Path.of("openapi.yaml")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", "application/yaml", "*/*"})
    void browsersAndToolsGetIt(String accept) {
        given().accept(accept).get("/q/openapi").then().statusCode(200);
    }

    /** Generators make a type of each component, whatever its section, and write names in one way. */
    @Test
    void noTwoComponentsHaveOneNameInAnyLanguage() throws IOException {
        Map<String, String> sections = new HashMap<>();
        String section = "";
        for (String line : Files.readString(Path.of("openapi.yaml"))
                .replaceFirst("(?s).*\ncomponents:\n", "")
                .split("\n")) {
            if (line.matches("  \\w+:")) {
                section = line.strip();
            } else if (line.matches("    [\\w-]+:.*") && !section.equals("examples:")) {
                String name =
                        line.replaceFirst(":.*", "").replaceAll("[ _-]", "").toLowerCase(Locale.ROOT);
                assertThat(sections.put(name, section)).as(name).isNull();
            }
        }
        assertThat(sections).hasSizeGreaterThan(100);
    }
}
