package dev.annals.access.openid;

import static io.restassured.RestAssured.given;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.notNullValue;
import static org.hamcrest.Matchers.nullValue;
import static org.hamcrest.Matchers.startsWith;

import dev.annals.AuditLogFixture;
import dev.annals.ProjectTest;
import io.quarkus.test.junit.QuarkusTest;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A service without an OpenID provider says so. */
@QuarkusTest
class WithoutOpenIdTest extends ProjectTest {

    @Test
    void withoutAProviderThereIsNoSessionAndNoSignIn() {
        given().cookie("annals-session", "a.b.c")
                .get("/v1/session")
                .then()
                .statusCode(200)
                .body("provider", nullValue())
                .body("subject", nullValue());
        for (String path : List.of("/v1/session/sign-in", "/v1/session/callback?code=a&state=b")) {
            given().redirects()
                    .follow(false)
                    .get(path)
                    .then()
                    .statusCode(404)
                    .body("type", equalTo("urn:annals:problem:not-found"))
                    .body("detail", startsWith("Sign-in is not configured"));
        }
    }

    @Test
    void aTokenOfTheServiceOpensItsOwnProject() {
        project.request()
                .get("/v1/whoami/projects")
                .then()
                .statusCode(200)
                .body("projects.id", contains(project.id().toString()));
    }

    @Test
    void administratorsMayAskWhoHasCome() {
        project.request().get("/v1/identities").then().statusCode(403);
        given().auth()
                .preemptive()
                .oauth2(AuditLogFixture.ADMIN_TOKEN)
                .get("/v1/identities")
                .then()
                .statusCode(200)
                .body("identities", notNullValue());
    }
}
