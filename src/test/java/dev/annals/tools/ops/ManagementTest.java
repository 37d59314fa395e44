package dev.annals.tools.ops;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.hasItem;

import dev.annals.Await;
import dev.annals.ManagementPort;
import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.Response;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.inject.Inject;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.eclipse.microprofile.health.HealthCheck;
import org.eclipse.microprofile.health.HealthCheckResponse;
import org.eclipse.microprofile.health.Readiness;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
@Timeout(60)
class ManagementTest {

    @Inject
    @Readiness
    Switch itself;

    /** A check that a test can turn off. */
    @Readiness
    @ApplicationScoped
    public static class Switch implements HealthCheck {

        private volatile boolean up = true;

        public void turn(boolean on) {
            up = on;
        }

        @Override
        public HealthCheckResponse call() {
            return HealthCheckResponse.named("Switch").status(up).build();
        }
    }

    @Test
    void theManagementPortShowsMetricsAndEachCheck() {
        assertThat(given().get(ManagementPort.uri("/metrics"))
                        .then()
                        .statusCode(200)
                        .extract()
                        .asString())
                .contains("jvm_memory_used_bytes");
        given().get(ManagementPort.uri("/health")).then().statusCode(200).body("checks.name", hasItem("Database"));
        given().get(ManagementPort.uri("/openapi")).then().statusCode(404);
    }

    /** Java's own client offers it at first. The connection would be watched as one of HTTP/1.1, and be closed in mid-answer. */
    @Test
    void theManagementPortDoesNotChangeToHttp2() throws Exception {
        HttpResponse<String> answer = HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(ManagementPort.uri("/metrics")).build(),
                        HttpResponse.BodyHandlers.ofString());
        assertThat(answer.statusCode()).isEqualTo(200);
        assertThat(answer.version()).isEqualTo(HttpClient.Version.HTTP_1_1);
    }

    @Test
    void aServiceThatIsNotReadySaysWhyOnTheManagementPortAlone() throws Exception {
        itself.turn(false);
        try {
            given().get(ManagementPort.uri("/health/ready"))
                    .then()
                    .statusCode(503)
                    .body("checks.name", hasItem("Switch"));
            Await.until(
                    "the public port says so, too",
                    () -> given().get("/q/health/ready").statusCode() != 200);
            Response answer = given().get("/q/health/ready");
            answer.then().statusCode(503).contentType("application/problem+json");
            assertThat(answer.asString()).doesNotContain("Switch", "checks", "PostgreSQL");
            given().get("/q/health/live").then().statusCode(200);
        } finally {
            itself.turn(true);
        }
    }
}
