package dev.annals.kernel.database;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.OneByOne;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.core.feed.SseStream;
import io.quarkus.test.common.WithTestResource;
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
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.eclipse.microprofile.config.inject.ConfigProperty;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** With the default time limits, requests do not wait for them once the path to the database works again. */
@Slow
@TakesLong
@QuarkusTest
@OneByOne
@WithTestResource(UnreliablePath.class)
@Timeout(180)
class HealedPathIT {

    private static final int WRITES = 20;
    /** Far less than the deadline of a statement, which is 45 seconds. */
    private static final Duration LIMIT = Duration.ofSeconds(20);

    @Inject
    AuditLogFixture log;

    @Inject
    ServicePool connections;

    @ConfigProperty(name = "annals.token.recheck")
    Duration recheck;

    @TestHTTPResource("/v1/project-logs")
    URI feed;

    private final HttpClient http = HttpClient.newHttpClient();
    private Project project;

    @AfterEach
    void thaw() {
        UnreliablePath.thaw();
    }

    @Test
    void statementsFromBeforeAndConnectionsThatIdledMeanwhileAreGivenUpAtOnce() throws Exception {
        project = log.newProject();
        // Several connections of each pool.
        for (CompletableFuture<HttpResponse<String>> each : requests(new ArrayList<>())) {
            assertThat(each.get(20, TimeUnit.SECONDS).statusCode()).isIn(200, 201);
        }
        CountDownLatch noticed = new CountDownLatch(1);
        Handler listener = listener(noticed);
        Logger path = Logger.getLogger(DatabasePath.class.getName());
        path.addHandler(listener);
        List<UUID> ids = new ArrayList<>();
        List<CompletableFuture<HttpResponse<String>>> underWay;
        try {
            UnreliablePath.freeze();
            underWay = requests(ids);
            assertThat(noticed.await(60, TimeUnit.SECONDS))
                    .as("the service says that it cannot reach the database")
                    .isTrue();
        } finally {
            path.removeHandler(listener);
        }

        UnreliablePath.thaw();
        long thawed = System.nanoTime();
        for (CompletableFuture<HttpResponse<String>> each : underWay) {
            assertThat(each.get(60, TimeUnit.SECONDS).statusCode()).isIn(200, 201, 503);
        }
        for (UUID id : ids) {
            assertThat(append(id).get(60, TimeUnit.SECONDS).statusCode()).isIn(200, 201);
        }
        assertThat(Duration.ofNanos(System.nanoTime() - thawed)).isLessThan(LIMIT);
        assertThat(log.feed(project.id())).containsAll(ids);
        log.checkFeed(project.id());
    }

    /** New connections work, and the path has forgotten the old ones without a word. */
    @Test
    void connectionsThatThePathHasForgottenAreFoundByAskingTheServer() throws Exception {
        project = log.newProject();
        Project other = log.newProject();
        for (CompletableFuture<HttpResponse<String>> each : requests(new ArrayList<>())) {
            assertThat(each.get(20, TimeUnit.SECONDS).statusCode()).isIn(200, 201);
        }
        try (SseStream listener = SseStream.open(HttpRequest.newBuilder(feed.resolve("/v1/project-logs/stream"))
                .header("Authorization", "Bearer " + other.token())
                .build())) {
            long used = System.nanoTime();
            Await.until("each token is due to be looked up again", () -> System.nanoTime() - used > recheck.toNanos());
            UnreliablePath.freeze();
            UnreliablePath.thaw();
            long began = System.nanoTime();
            UUID id = UUID.randomUUID();
            CompletableFuture<HttpResponse<String>> written = append(id);
            UUID announced;
            try (Connection writer = log.connect()) {
                announced = SqlFixture.insert(writer, other.id(), "past the path");
                writer.commit();
            }
            CompletableFuture<String> heard = CompletableFuture.supplyAsync(() -> next(listener));
            assertThat(written.get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(201);
            assertThat(heard.get(60, TimeUnit.SECONDS)).contains(announced.toString());
            assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(LIMIT);
            assertThat(log.feed(project.id())).contains(id);
        }
        assertThat(log.checkFeed(project.id())).isEqualTo(WRITES + 1);
        assertThat(log.checkFeed(other.id())).isEqualTo(1);
    }

    private static String next(SseStream stream) {
        try {
            return stream.nextEvent().data();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * The server reports that it works on the statement, so the connection stays, though it is silent for longer than a lost
     * one may be.
     */
    @Test
    void aSlowStatementKeepsItsConnection() {
        boolean same = connections
                .connect()
                .chain(connection -> connection
                        .query("select pg_backend_pid() from (select pg_sleep(12)) as slow")
                        .execute()
                        .chain(first -> connection
                                .query("select pg_backend_pid()")
                                .execute()
                                .map(second -> second.iterator()
                                        .next()
                                        .getInteger(0)
                                        .equals(first.iterator().next().getInteger(0))))
                        .eventually(connection::close))
                .await()
                .atMost(Duration.ofSeconds(30));

        assertThat(same).isTrue();
    }

    private static Handler listener(CountDownLatch noticed) {
        return new Handler() {
            @Override
            public void publish(LogRecord entry) {
                if (entry.getLevel().intValue() >= Level.WARNING.intValue()) {
                    noticed.countDown();
                }
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
    }

    /** Writes and reads that are sent at once. */
    private List<CompletableFuture<HttpResponse<String>>> requests(List<UUID> ids) {
        List<CompletableFuture<HttpResponse<String>>> sent = new ArrayList<>();
        for (int i = 0; i < WRITES; i++) {
            ids.add(UUID.randomUUID());
            sent.add(append(ids.get(i)));
            sent.add(send(request()));
        }
        return sent;
    }

    private CompletableFuture<HttpResponse<String>> append(UUID id) {
        return send(request()
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString("""
                        {"id": "%s", "action": "a"}""".formatted(id))));
    }

    private HttpRequest.Builder request() {
        return HttpRequest.newBuilder(feed).header("Authorization", "Bearer " + project.token());
    }

    private CompletableFuture<HttpResponse<String>> send(HttpRequest.Builder request) {
        return http.sendAsync(request.build(), HttpResponse.BodyHandlers.ofString());
    }
}
