package dev.annals.core.append;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.SqlFixture;
import dev.annals.access.tokens.TestTokens;
import dev.annals.core.feed.SseStream;
import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import jakarta.inject.Inject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.eclipse.microprofile.config.inject.ConfigProperty;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A SQL session that locks many projects holds up writes to them, and nothing else. */
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
@Timeout(120)
class LockedProjectsTest {

    /** The statements that wait for a lock as long as it takes, each with the time at which it began. */
    private static final String WAITING = """
            select pid || ' ' || query_start from pg_stat_activity
            where application_name = 'annals' and datname = current_database() and wait_event_type = 'Lock'
              and query_start < clock_timestamp() - interval '1 s' -- others give up after a tenth of it
            order by 1
            """;

    @Inject
    AuditLogFixture log;

    @ConfigProperty(name = "annals.database.pool-size")
    int poolSize;

    @TestHTTPResource("/")
    URI service;

    private final HttpClient http = HttpClient.newHttpClient();

    @Test
    void pagesTokensStreamsAndWritesOfOthersWaitForNoneOfTheirWriters() throws Exception {
        Project free = log.newProject();
        List<Project> locked = new ArrayList<>();
        for (int i = 0; i < poolSize + 8; i++) {
            locked.add(log.newProject());
            append(locked.get(i)).get(30, TimeUnit.SECONDS);
        }
        List<CompletableFuture<HttpResponse<String>>> blocked = new ArrayList<>();
        try (SseStream stream =
                        SseStream.open(request(free, "/v1/project-logs/stream").build());
                Connection owner = log.connect()) {
            for (Project project : locked) {
                SqlFixture.execute(owner, "select from annals.project where id = '" + project.id() + "' for update");
                blocked.add(append(project));
            }
            Await.until(
                    "as many writers wait as there are connections",
                    () -> log.texts(WAITING).size() >= poolSize);
            List<String> waiting = log.texts(WAITING);

            assertThat(read(free)).isEqualTo(200);
            // This token is not cached.
            assertThat(read(new Project(free.id(), insertToken(free)))).isEqualTo(200);
            assertThat(append(free).get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(201);
            assertThat(CompletableFuture.supplyAsync(() -> next(stream)).get(60, TimeUnit.SECONDS))
                    .contains("sequence_id");
            UUID written = insert(free);
            assertThat(CompletableFuture.supplyAsync(() -> next(stream)).get(60, TimeUnit.SECONDS))
                    .contains(written.toString());

            assertThat(log.texts(WAITING)).as("those who wait for locks").containsAll(waiting);
            assertThat(blocked).noneMatch(CompletableFuture::isDone);
            owner.rollback();
        }
        for (int i = 0; i < blocked.size(); i++) {
            assertThat(blocked.get(i).get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(201);
            assertThat(log.checkFeed(locked.get(i).id())).isEqualTo(2);
        }
    }

    private static String next(SseStream stream) {
        try {
            return stream.nextEvent().data();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private UUID insert(Project project) throws Exception {
        try (Connection connection = log.connect()) {
            UUID id = SqlFixture.insert(connection, project.id(), "by SQL");
            connection.commit();
            return id;
        }
    }

    /** Gives the project a token behind the service's back: to make one over the API takes a write. */
    private String insertToken(Project project) throws Exception {
        String token = TestTokens.unknown();
        log.run("select annals.issue_token('%s', gen_random_uuid(), sha256('%s'), '{read}', null, null, '{}')"
                .formatted(project.id(), token));
        return token;
    }

    private int read(Project project) throws Exception {
        return send(request(project, "/v1/project-logs"))
                .get(60, TimeUnit.SECONDS)
                .statusCode();
    }

    private CompletableFuture<HttpResponse<String>> append(Project project) {
        return send(request(project, "/v1/project-logs")
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString("{\"action\": \"a\"}")));
    }

    private HttpRequest.Builder request(Project project, String path) {
        return HttpRequest.newBuilder(service.resolve(path)).header("Authorization", "Bearer " + project.token());
    }

    private CompletableFuture<HttpResponse<String>> send(HttpRequest.Builder request) {
        return http.sendAsync(request.build(), HttpResponse.BodyHandlers.ofString());
    }
}
