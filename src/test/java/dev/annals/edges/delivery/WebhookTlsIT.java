package dev.annals.edges.delivery;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.tools.embedded.TestDatabase;
import io.restassured.path.json.JsonPath;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A webhook gets records only if its certificate is trusted, and is for the name in its URL. */
@Slow
class WebhookTlsIT {

    @TempDir
    Path directory;

    @Test
    void recordsGoOnlyToTheHostOfTheUrl() throws Exception {
        Certificate certificate = new Certificate(Files.createDirectory(directory.resolve("trusted")));
        Certificate stranger = new Certificate(Files.createDirectory(directory.resolve("stranger")));
        try (Receiver trusted = Receiver.with(certificate);
                Receiver otherName = Receiver.with(certificate);
                Receiver untrusted = Receiver.with(stranger);
                ServiceProcess service = StreamingService.start(
                        TestDatabase.createDatabase(),
                        "ANNALS_STREAMS_MAX_RETRY_DELAY",
                        "200ms",
                        "JAVA_TOOL_OPTIONS",
                        certificate.trusting())) {
            Project project = service.newProject(AuditLogFixture.ADMIN_TOKEN, "read", "write", "stream");
            set(service, project, "trusted", "https://localhost:" + trusted.port() + "/");
            set(service, project, "other-name", "https://127.0.0.1:" + otherName.port() + "/");
            set(service, project, "untrusted", "https://localhost:" + untrusted.port() + "/");
            for (int i = 0; i < 3; i++) {
                given().header("Authorization", "Bearer " + project.token())
                        .contentType("application/json")
                        .body("{\"action\": \"act\"}")
                        .post(service.uri("/v1/project-logs"))
                        .then()
                        .statusCode(201);
            }
            Await.until("all records are there", () -> trusted.taken().equals(List.of(1L, 2L, 3L)));
            trusted.checkOrder();
            for (String name : List.of("other-name", "untrusted")) {
                Await.until(
                        "it was tried more than once",
                        () -> get(service, project, name).getInt("failures") > 1);
                JsonPath stream = get(service, project, name);
                assertThat(stream.getString("state")).isEqualTo("failing");
                assertThat(stream.getString("last_error")).startsWith("TLS fails");
                assertThat(stream.getString("cursor")).isEqualTo("0");
            }
            assertThat(otherName.requests).isEmpty();
            assertThat(otherName.faults).isEmpty();
            assertThat(untrusted.requests).isEmpty();
            assertThat(untrusted.faults).isEmpty();
        }
    }

    private static void set(ServiceProcess service, Project project, String name, String url) {
        given().header("Authorization", "Bearer " + project.token())
                .contentType("application/json")
                .body("{\"sink\": {\"type\": \"webhook\", \"url\": \"" + url + "\", \"secret\": \"" + Receiver.SECRET
                        + "\"}}")
                .put(service.uri("/v1/streams/" + name))
                .then()
                .statusCode(201);
    }

    private static JsonPath get(ServiceProcess service, Project project, String name) {
        return new JsonPath(given().header("Authorization", "Bearer " + project.token())
                .get(service.uri("/v1/streams/" + name))
                .asString());
    }
}
