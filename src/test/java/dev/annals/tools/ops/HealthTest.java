package dev.annals.tools.ops;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Await;
import dev.annals.ManagementPort;
import dev.annals.SqlFixture;
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
    void thePublicPortSaysWhetherTheServiceIsWellAndNoMore(String question) throws Exception {
        // A start first makes what it promises.
        Await.until("it is well", () -> given().get("/q/health/" + question).statusCode() == 200);
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

    /** As after a restore without privileges. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "select on annals.access_token",
                "select on annals.feed_segment",
                "insert on annals.append",
                "insert (action) on annals.audit_record",
                "execute on function annals.append_apart",
                "usage on schema annals"
            })
    void aServiceWhoseRequestsCannotWorkIsNotReadyAndSaysWhy(String privilege) throws Exception {
        SqlFixture sql = new SqlFixture();
        sql.runEach("revoke " + privilege + " from annals_service");
        try {
            awaitReady(503);
            String health = given().get(ManagementPort.uri("/health"))
                    .then()
                    .statusCode(503)
                    .extract()
                    .asString();
            assertThat(health).contains("requests fail", "annals migrate");
        } finally {
            sql.runEach("grant " + privilege + " to annals_service");
        }
        awaitReady(200);
    }

    /** Requests share an answer for a moment. */
    private static void awaitReady(int status) throws Exception {
        Await.until(
                "readiness is " + status, () -> given().get("/q/health/ready").statusCode() == status);
    }
}
