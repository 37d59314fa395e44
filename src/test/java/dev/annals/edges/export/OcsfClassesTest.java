package dev.annals.edges.export;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import io.quarkus.test.junit.QuarkusTest;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The catalogue of actions names the OCSF class of records, and each event has what its class requires. */
@QuarkusTest
class OcsfClassesTest {

    private static final ObjectMapper JSON = new ObjectMapper();

    /** With and without each field that a class takes from the record. */
    private static final List<String> FIELDS = List.of(
            "",
            ", \"actor\": {\"type\": \"user\", \"id\": \"u-1\", \"name\": \"Jane\"}",
            ", \"subject\": {\"type\": \"thing\", \"id\": \"s-1\"}",
            ", \"actor\": {\"id\": \"u-1\"}, \"subject\": {\"name\": \"a thing\"}, \"ip_address\": \"192.0.2.1\", \"outcome\": \"failure\"");

    private final AuditLogFixture log = new AuditLogFixture();
    private Project project;

    @BeforeEach
    void makeProject() {
        project = log.newProject("read", "write");
    }

    @ParameterizedTest
    @CsvSource({
        "1001, file.rename, 5, High",
        "3001, user.lock, 9, Informational",
        "3002, user.login, 1, High",
        "3002, user.sign_out, 2, Informational",
        "3002, user.session.renew, 99, Informational",
        "3003, session.authorize, 1, Informational",
        "3005, role.revoke, 2, Critical",
        "3006, member.add, 3, Informational",
        "6001, page.share, 8, Informational",
        "6003, thing.create, 1, Low",
        "6005, rows.query, 4, Informational"
    })
    void aRecordIsAnEventOfTheClassThatItsActionHas(int uid, String action, int activity, String severity)
            throws Exception {
        set(uid, action, severity);
        for (String fields : FIELDS) {
            project.request()
                    .contentType("application/json")
                    .body("{\"action\": \"" + action + "\"" + fields + "}")
                    .post(AuditLogFixture.LOGS)
                    .then()
                    .statusCode(201);
        }
        JsonNode schema = JSON.readTree(getClass().getResourceAsStream("ocsf-1.6.0.json"));
        List<JsonNode> events = export();
        assertThat(events).hasSize(FIELDS.size());
        for (JsonNode event : events) {
            OcsfSchema.check(schema, uid == 6003 ? "api_activity" : Integer.toString(uid), event);
            assertThat(event.path("class_uid").asInt()).isEqualTo(uid);
            assertThat(event.path("activity_id").asInt()).isEqualTo(activity);
            assertThat(event.path("type_uid").asInt()).isEqualTo(uid * 100 + activity);
            assertThat(event.path("severity").asText()).isEqualTo(severity);
            assertThat(event.at(uid == 6003 ? "/api/operation" : "/unmapped/action")
                            .asText())
                    .isEqualTo(action);
            if (uid != 6003) {
                assertThat(event.path("class_name")).isEqualTo(schema.at("/" + uid + "/caption"));
            }
        }
    }

    private void set(int uid, String action, String severity) {
        given().header("Authorization", "Bearer " + AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json")
                .body("{\"ocsf_class\": %d, \"severity\": \"%s\"}"
                        .formatted(uid, severity.toLowerCase(java.util.Locale.ROOT)))
                .put("/v1/projects/" + project.id() + "/actions/" + action)
                .then()
                .statusCode(200);
    }

    private List<JsonNode> export() throws Exception {
        String lines = project.request()
                .get(AuditLogFixture.LOGS + "/export?format=ocsf")
                .then()
                .statusCode(200)
                .extract()
                .asString();
        return Stream.of(lines.split("\n")).map(OcsfClassesTest::parse).toList();
    }

    private static JsonNode parse(String line) {
        try {
            return JSON.readTree(line);
        } catch (com.fasterxml.jackson.core.JsonProcessingException e) {
            throw new IllegalArgumentException(line, e);
        }
    }
}
