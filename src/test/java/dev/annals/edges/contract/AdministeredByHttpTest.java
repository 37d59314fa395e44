package dev.annals.edges.contract;

import static io.restassured.RestAssured.given;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasSize;
import static org.hamcrest.Matchers.notNullValue;

import dev.annals.AuditLogFixture;
import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.specification.RequestSpecification;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** Grants and archives as an administrator sees them over HTTP; other tests know them by the schema and the command line. */
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
class AdministeredByHttpTest {

    private final AuditLogFixture log = new AuditLogFixture();

    private static RequestSpecification admin() {
        return given().auth().oauth2(AuditLogFixture.ADMIN_TOKEN).contentType("application/json");
    }

    @Test
    void aGrantThatIsRevokedStaysInTheList() {
        String grants = "/v1/projects/" + log.newProject().id() + "/grants";
        String grant = admin().body(
                        "{\"issuer\": \"https://login.example.org\", \"claim\": \"groups\", \"value\": \"g\", \"scopes\": [\"read\"]}")
                .post(grants)
                .then()
                .statusCode(201)
                .extract()
                .path("id");
        admin().delete(grants + "/" + grant).then().statusCode(204);
        admin().get(grants)
                .then()
                .statusCode(200)
                .body("grants", hasSize(1))
                .body("grants[0].revoked_at", notNullValue());
        given().delete("/v1/session").then().statusCode(204);
    }

    @Test
    void anArchiveOfRecordsThatAreNotThereIsNotNoted() {
        String archives = "/v1/projects/" + log.newProject().id() + "/archives";
        admin().body(
                        "{\"first_sequence_id\": 1, \"last_sequence_id\": 2, \"file_name\": \"none\", \"bytes\": 1, \"sha256\": \""
                                + "0".repeat(64) + "\"}")
                .post(archives)
                .then()
                .statusCode(409);
        admin().get(archives).then().statusCode(200).body("archives", hasSize(0));
    }

    @Test
    void theDatabasesAreListed() {
        admin().get("/v1/databases")
                .then()
                .statusCode(200)
                .body("databases.name", contains("main"))
                .body("databases.home", contains(true));
    }

    /** MovesIT moves projects, in a service with two databases. */
    @Test
    void aProjectOfTheOnlyDatabaseDoesNotMove() throws Exception {
        UUID project = log.newProject().id();
        String move = "/v1/projects/" + project + "/move";
        admin().get(move).then().statusCode(404);
        admin().delete(move).then().statusCode(404);
        admin().body("{\"database\": \"main\"}").post(move).then().statusCode(409);
        admin().body("{\"database\": \"east\"}").post(move).then().statusCode(422);
        log.run("select annals.start_move(gen_random_uuid(), '" + project + "', 'main', 'east')");
        admin().get(move).then().statusCode(200).body("state", equalTo("copying"));
        admin().delete(move).then().statusCode(202).body("state", equalTo("cancelling"));
    }
}
