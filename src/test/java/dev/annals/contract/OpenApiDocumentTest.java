package dev.annals.contract;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.quarkus.test.junit.QuarkusTest;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

@QuarkusTest
class OpenApiDocumentTest {
    private final YAMLMapper yaml = new YAMLMapper();

    @Test
    void theServedDocumentEqualsTheFile() throws IOException {
        assertThat(yaml.readTree(served("YAML"))).isEqualTo(file());
    }

    @Test
    void theDocumentServedAsJsonEqualsTheFile() throws IOException {
        assertThat(new ObjectMapper().readTree(served("JSON"))).isEqualTo(file());
    }

    private JsonNode file() throws IOException {
        return yaml.readTree(Path.of("openapi.yaml").toFile());
    }

    private static String served(String format) {
        return given().queryParam("format", format)
                .get("/q/openapi")
                .then()
                .statusCode(200)
                .extract()
                .asString();
    }
}
