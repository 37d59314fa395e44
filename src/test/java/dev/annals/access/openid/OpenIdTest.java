package dev.annals.access.openid;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import io.restassured.response.ValidatableResponse;
import io.restassured.specification.RequestSpecification;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** Tests of the started service with a real provider. */
public abstract class OpenIdTest {

    protected final AuditLogFixture log = new AuditLogFixture();
    protected OpenIdProvider provider;

    @BeforeEach
    void needTheProvider() throws Exception {
        provider = OpenIdProvider.needed();
    }

    /** The administration's tables match its feed. */
    @AfterEach
    void theGrantsFollowFromTheirEvents() throws Exception {
        assertThat(log.texts(
                        "select finding from annals.administration_differences() where finding ~ 'grant|identity'"))
                .isEmpty();
    }

    protected static RequestSpecification with(String token) {
        return given().auth().preemptive().oauth2(token);
    }

    protected static RequestSpecification admin() {
        return with(AuditLogFixture.ADMIN_TOKEN);
    }

    /** Grants a project to who has a claim. */
    protected static String grant(String project, String claim, String value, String... scopes) {
        return granted(project, Map.of("claim", claim, "value", value, "scopes", List.of(scopes)))
                .statusCode(201)
                .extract()
                .path("id");
    }

    protected static ValidatableResponse granted(String project, Map<String, ?> body) {
        return admin().contentType("application/json")
                .body(body)
                .post("/v1/projects/" + project + "/grants")
                .then();
    }

    protected static void revoke(Project project, String grant) {
        admin().delete("/v1/projects/" + project.id() + "/grants/" + grant)
                .then()
                .statusCode(204);
    }

    /** A new subject. */
    protected static String somebody() {
        return "somebody " + UUID.randomUUID();
    }
}
