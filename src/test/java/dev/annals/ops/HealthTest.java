package dev.annals.ops;

import static io.restassured.RestAssured.given;

import dev.annals.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import org.junit.jupiter.api.Test;

@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
class HealthTest {
    @Test
    void aStartedServiceReachesItsDatabase() {
        given().get("/q/health").then().statusCode(200);
    }
}
