package dev.annals.edges.delivery;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import io.restassured.path.json.JsonPath;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The service with its own database makes a key for the secrets of sinks by itself, and keeps it. */
@Slow
class OwnKeyIT {

    @TempDir
    Path directory;

    @Test
    void secretsOutliveARestartAndAreOfNoUseWithoutTheKey() throws Exception {
        Path data = directory.resolve("data");
        Path key = data.resolve("streams-key");
        Project project;
        try (Receiver receiver = new Receiver()) {
            try (ServiceProcess service = start(data)) {
                project = service.newProject(AuditLogFixture.ADMIN_TOKEN, "read", "write", "stream");
                given().header("Authorization", "Bearer " + project.token())
                        .contentType("application/json")
                        .body("{\"sink\": {\"type\": \"webhook\", \"url\": \"" + receiver.url() + "\", \"secret\": \""
                                + Receiver.SECRET + "\"}}")
                        .put(service.uri("/v1/streams/hook"))
                        .then()
                        .statusCode(201);
                append(service, project);
                Await.until("the record is there", () -> receiver.taken().equals(List.of(1L)));
                assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(key)))
                        .isEqualTo("rw-------");
            }
            String kept = Files.readString(key);

            try (ServiceProcess service = start(data)) {
                append(service, project);
                Await.until("the next one is there", () -> receiver.taken().equals(List.of(1L, 2L)));
                assertThat(Files.readString(key)).isEqualTo(kept);
                assertThat(service.output).noneMatch(line -> line.contains(kept.strip()));
            }

            Files.delete(key);
            try (ServiceProcess service = start(data)) {
                append(service, project);
                Await.until(
                        "that is known",
                        () -> "failing".equals(get(service, project).getString("state")));
                assertThat(get(service, project).getString("last_error")).contains("ANNALS_STREAMS_KEY_FILE");
                assertThat(receiver.taken()).isEqualTo(List.of(1L, 2L));
            }
            assertThat(receiver.faults).isEmpty();
        }
    }

    private static ServiceProcess start(Path data) throws IOException {
        return ServiceProcess.start(Map.of(
                        "ANNALS_DATA_DIR",
                        data.toString(),
                        "ANNALS_ADMIN_TOKEN",
                        AuditLogFixture.ADMIN_TOKEN,
                        "ANNALS_STREAMS_ALLOWED_HOSTS",
                        "127.0.0.1",
                        "ANNALS_STREAMS_LEASE",
                        "1s"))
                .awaitListening();
    }

    private static void append(ServiceProcess service, Project project) {
        given().header("Authorization", "Bearer " + project.token())
                .contentType("application/json")
                .body("{\"action\": \"act\"}")
                .post(service.uri("/v1/project-logs"))
                .then()
                .statusCode(201);
    }

    private static JsonPath get(ServiceProcess service, Project project) {
        return new JsonPath(given().header("Authorization", "Bearer " + project.token())
                .get(service.uri("/v1/streams/hook"))
                .asString());
    }
}
