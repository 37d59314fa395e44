package dev.annals.ops;

import static io.restassured.RestAssured.given;

import io.quarkus.test.junit.QuarkusTest;
import org.junit.jupiter.api.Test;

@QuarkusTest
class HealthTest {
    @Test
    void aStartedServiceSaysThatItIsAlive() {
        given().get("/q/health/live").then().statusCode(200);
    }
}
