package dev.annals.contract;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import io.quarkus.test.junit.QuarkusTest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
}
