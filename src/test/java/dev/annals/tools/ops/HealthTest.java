package dev.annals.tools.ops;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
class HealthTest {

    @ParameterizedTest
    @ValueSource(strings = {"live", "started", "ready"})
    void thePublicPortSaysWhetherTheServiceIsWellAndNoMore(String question) {
        String answer = given().get("/q/health/" + question)
                .then()
                .statusCode(200)
                .contentType("application/json")
                .header("Cache-Control", "no-store")
                .extract()
                .asString();

        assertThat(answer).isEqualTo("{\"status\":\"UP\"}");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"/q/metrics", "/q/metrics/", "/q/health", "/q/health/", "/q/health/well", "/q/health/group/all"})
    void thePublicPortShowsNothingOfTheInside(String path) {
        given().get(path).then().statusCode(404).contentType("application/problem+json");
    }
}
