package dev.annals.core.append;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Projects share transactions and do not wait for one another. */
@QuarkusTest
@Timeout(60)
class ManyProjectsTest {

    private static final int LOCKED = 20;
    private static final int FREE = 12;
    private static final int ROUNDS = 5;

    private final AuditLogFixture log = new AuditLogFixture();
    private final HttpClient http = HttpClient.newHttpClient();

    @TestHTTPResource("/")
    URI service;

    private CompletableFuture<HttpResponse<String>> append(Project project) {
        return http.sendAsync(
                HttpRequest.newBuilder(service.resolve(AuditLogFixture.LOGS))
                        .header("Authorization", "Bearer " + project.token())
                        .header("Content-Type", "application/json")
                        .POST(HttpRequest.BodyPublishers.ofString("""
                                {"action": "a"}"""))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }

    /** More projects are locked than the service has connections that wait for locks. */
    @Test
    void projectsThatSomebodyKeepsLockedDelayNoOthers() throws Exception {
        List<Project> locked = new ArrayList<>();
        List<Project> free = new ArrayList<>();
        for (int i = 0; i < LOCKED; i++) {
            locked.add(log.newProject());
        }
        for (int i = 0; i < FREE; i++) {
            free.add(log.newProject());
        }
        List<CompletableFuture<HttpResponse<String>>> waiting = new ArrayList<>();
        try (Connection holder = log.connect()) {
            for (Project project : locked) {
                AuditLogFixture.lockFeed(holder, project.id());
            }
            for (int round = 0; round < ROUNDS; round++) {
                List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
                locked.forEach(project -> waiting.add(append(project)));
                free.forEach(project -> answers.add(append(project)));
                for (CompletableFuture<HttpResponse<String>> answer : answers) {
                    assertThat(answer.get(8, TimeUnit.SECONDS).statusCode()).isEqualTo(201);
                }
            }
            assertThat(waiting).noneMatch(CompletableFuture::isDone);
            holder.rollback();
        }
        for (CompletableFuture<HttpResponse<String>> answer : waiting) {
            assertThat(answer.get(30, TimeUnit.SECONDS).statusCode()).isEqualTo(201);
        }
        for (Project project : locked) {
            assertThat(log.checkFeed(project.id())).isEqualTo(ROUNDS);
        }
        for (Project project : free) {
            assertThat(log.checkFeed(project.id())).isEqualTo(ROUNDS);
        }
    }
}
