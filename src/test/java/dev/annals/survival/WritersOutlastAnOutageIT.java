package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture.Project;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.tools.embedded.InstalledPostgres;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A writer whose token has to be looked up while no database answers waits for it, as its records do. */
@Slow
@TakesLong
@Timeout(120)
class WritersOutlastAnOutageIT {

    private static final String ADMIN = "a-token-for-administration";
    private static final long RECHECK_MILLIS = 100;
    /** Longer than the retries of background reads, and shorter than the limit of a look-up. */
    private static final long OUTAGE_MILLIS = 3_000;

    @TempDir
    Path directory;

    private final HttpClient http = HttpClient.newHttpClient();

    @Test
    void aTokenThatIsDueToBeLookedUpWaitsForTheDatabase() throws Exception {
        try (InstalledPostgres server = InstalledPostgres.start(directory)) {
            SqlFixture.on(server.url("postgres")).runEach("create database annals");
            try (ServiceProcess service = ServiceProcess.start(Map.of(
                            "ANNALS_DATABASE_URL",
                            server.url("annals").withPassword(),
                            "ANNALS_ADMIN_TOKEN",
                            ADMIN,
                            "ANNALS_TOKEN_RECHECK",
                            RECHECK_MILLIS + "ms"))
                    .awaitListening()) {
                Project project = service.newProject(ADMIN, "read", "write");
                HttpRequest append = HttpRequest.newBuilder(service.uri("/v1/project-logs"))
                        .header("Authorization", "Bearer " + project.token())
                        .header("Content-Type", "application/json")
                        .POST(HttpRequest.BodyPublishers.ofString("{\"action\": \"a\"}"))
                        .build();
                assertThat(http.send(append, HttpResponse.BodyHandlers.ofString())
                                .statusCode())
                        .isEqualTo(201);

                server.kill();
                TimeUnit.MILLISECONDS.sleep(2 * RECHECK_MILLIS);
                CompletableFuture<HttpResponse<String>> answer =
                        http.sendAsync(append, HttpResponse.BodyHandlers.ofString());
                TimeUnit.MILLISECONDS.sleep(OUTAGE_MILLIS);
                assertThat(answer).as("an answer before the database is back").isNotDone();
                server.start();
                assertThat(answer.get().statusCode()).as(answer.get().body()).isEqualTo(201);
            }
        }
    }
}
