package dev.annals.derived.projection;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.ManagementPort;
import dev.annals.NothingByItself;
import dev.annals.OneByOne;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import io.restassured.response.ValidatableResponse;
import jakarta.inject.Inject;
import org.junit.jupiter.api.Test;

/** An operator watches and rebuilds projections. */
@QuarkusTest
@OneByOne
@TestProfile(NothingByItself.class)
class ProjectionResourceIT {

    @Inject
    AuditLogFixture log;

    @Test
    void eachRebuildBeginsAnotherGeneration() throws Exception {
        String generation = "select generation from annals.projection where name = 'statistics'";
        long before = log.number(generation);
        rebuild("statistics").statusCode(202);
        assertThat(log.number(generation)).isEqualTo(before + 1);
    }

    @Test
    void aRebuildOfAnUnknownProjectionIsAProblem() {
        rebuild("nothing").statusCode(404);
        given().auth()
                .oauth2(log.newProject().token())
                .post("/v1/projections/statistics/rebuild")
                .then()
                .statusCode(403);
    }

    @Test
    void metricsAndHealthShowEachProjection() {
        assertThat(given().get(ManagementPort.uri("/metrics"))
                        .then()
                        .statusCode(200)
                        .extract()
                        .asString())
                .contains(
                        "annals_projection_lag_records{database=\"main\",projection=\"statistics\"}",
                        "annals_projection_lag_seconds{database=\"main\",projection=\"statistics\"}",
                        "annals_projection_failing{database=\"main\",projection=\"statistics\"}");
        assertThat(given().get(ManagementPort.uri("/health"))
                        .then()
                        .statusCode(200)
                        .extract()
                        .asString())
                .contains("statistics fails in projects");
    }

    private static ValidatableResponse rebuild(String name) {
        return given().auth()
                .oauth2(AuditLogFixture.ADMIN_TOKEN)
                .post("/v1/projections/" + name + "/rebuild")
                .then();
    }
}
