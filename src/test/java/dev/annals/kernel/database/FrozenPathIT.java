package dev.annals.kernel.database;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.OneByOne;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.core.feed.SseStream;
import io.quarkus.test.common.WithTestResource;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.QuarkusTestProfile;
import io.quarkus.test.junit.TestProfile;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.SqlConnection;
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
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The path to the database drops everything for a while, and no connection breaks. Afterwards the service recovers by itself.
 */
@Slow
@QuarkusTest
@OneByOne
@WithTestResource(UnreliablePath.class)
@TestProfile(FrozenPathIT.LittlePatience.class)
@Timeout(120)
class FrozenPathIT {

    private static final int WRITES = 20;
    /** The deadline of a statement: see {@link LittlePatience}. */
    private static final Duration DEADLINE = Duration.ofMillis(3_500);

    /** The service with short time limits of the database. */
    public static class LittlePatience implements QuarkusTestProfile {
        @Override
        public Map<String, String> getConfigOverrides() {
            return Map.of(
                    "annals.database.statement-timeout", "2s",
                    "annals.database.lock-timeout", "1s",
                    "annals.database.answer-timeout", "500ms",
                    "annals.database.connect-timeout", "2s");
        }
    }

    @Inject
    AuditLogFixture log;

    @Inject
    ServicePool connections;

    @TestHTTPResource("/")
    URI service;

    private final HttpClient http = HttpClient.newHttpClient();
    private Project written;
    private Project followed;

    @AfterEach
    void thaw() {
        UnreliablePath.thaw();
    }

    @Test
    void writesPagesStreamsAndProjectionsGoOnAndNoRecordIsLostOrDoubled() throws Exception {
        written = log.newProject();
        followed = log.newProject();
        append(UUID.randomUUID()).get(20, TimeUnit.SECONDS);
        try (SseStream stream =
                SseStream.open(request(followed, "/v1/project-logs/stream").build())) {
            insertPastTheFrozenPath(followed);
            next(stream);

            UnreliablePath.freeze();
            long frozen = System.nanoTime();
            int connections = UnreliablePath.connections();
            List<UUID> ids = new ArrayList<>();
            List<CompletableFuture<HttpResponse<String>>> writes = new ArrayList<>();
            for (int i = 0; i < WRITES; i++) {
                ids.add(UUID.randomUUID());
                writes.add(append(ids.get(i)));
            }
            CompletableFuture<HttpResponse<String>> page = send(request(written, "/v1/project-logs"));
            UUID missed = insertPastTheFrozenPath(followed);
            assertThat(ready()).isEqualTo(503);
            Await.until(
                    "every statement that was under way is past its deadline",
                    () -> System.nanoTime() - frozen > DEADLINE.multipliedBy(2).toNanos()
                            && UnreliablePath.connections() > connections);
            assertThat(ready()).isEqualTo(503);

            UnreliablePath.thaw();
            assertThat(next(stream)).contains(missed.toString());
            assertThat(page.get(20, TimeUnit.SECONDS).statusCode()).isIn(200, 503);
            for (int i = 0; i < WRITES; i++) {
                int status = writes.get(i).get(20, TimeUnit.SECONDS).statusCode();
                if (status == 503) {
                    status = append(ids.get(i)).get(20, TimeUnit.SECONDS).statusCode();
                }
                assertThat(status).isIn(200, 201);
            }
            assertThat(send(request(written, "/v1/project-logs"))
                            .get(20, TimeUnit.SECONDS)
                            .statusCode())
                    .isEqualTo(200);
            Await.until("the service is ready", () -> ready() == 200);
            Await.until("what is new is counted", () -> counted(written) == WRITES + 1);
            assertThat(log.feed(written.id())).containsAll(ids);
        }
        assertThat(log.checkFeed(written.id())).isEqualTo(WRITES + 1);
        assertThat(log.checkFeed(followed.id())).isEqualTo(2);
    }

    /** Every kind of command, some of which fail: an answer that is not counted would show. */
    @Test
    void aConnectionThatIsDoneIsNotGivenUpHoweverLongItIdles() throws Exception {
        long backend = connections
                .connect()
                .chain(connection -> backend(connection)
                        .chain(first -> failing(connection, "select 1 / 0")
                                .chain(() -> failing(connection, "not SQL at all"))
                                .chain(() -> connection.begin())
                                .chain(transaction ->
                                        connection.query("select 1").execute().chain(transaction::commit))
                                .chain(() -> Uni.createFrom()
                                        .voidItem()
                                        .onItem()
                                        .delayIt()
                                        .by(DEADLINE.multipliedBy(2)))
                                .chain(() -> backend(connection))
                                .map(second -> first.equals(second) ? first : -1L))
                        .eventually(connection::close))
                .await()
                .atMost(Duration.ofSeconds(30));

        assertThat(backend).isPositive();
    }

    /**
     * An outage that ends before the next query: the path has forgotten the connections, and new ones work. The next query must
     * not take a dead one from the pool and wait for its deadline again.
     */
    @Test
    void connectionsThatAreSilentSinceAnAnswerIsOverdueAreGivenUpWithIt() throws Exception {
        CountDownLatch closed = new CountDownLatch(2);
        List<SqlConnection> connected = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            SqlConnection connection = connections.connect().await().atMost(Duration.ofSeconds(30));
            backend(connection).await().atMost(Duration.ofSeconds(30));
            connected.add(connection);
        }
        connected.subList(1, 3).forEach(idle -> idle.closeHandler(closed::countDown));
        // Otherwise a check of the service's own, which began before the last of them was heard, would close only some.
        String heard = log.text("select clock_timestamp()");
        Await.until(
                "no statement is under way that began before they were heard",
                () -> log.number("select count(*) from pg_stat_activity where application_name = 'annals'"
                                + " and state = 'active' and query_start < '" + heard + "'")
                        == 0);
        UnreliablePath.freeze();
        UnreliablePath.thaw();

        failing(connected.get(0), "select 1").await().atMost(Duration.ofSeconds(30));

        assertThat(closed.await(30, TimeUnit.SECONDS))
                .as("idle connections are closed, too")
                .isTrue();
        assertThat(connections
                        .connect()
                        .chain(FrozenPathIT::backendOnce)
                        .await()
                        .atMost(DEADLINE))
                .isPositive();
    }

    private static Uni<Long> backendOnce(SqlConnection connection) {
        return backend(connection).eventually(connection::close);
    }

    /** The server ends the statement at its own time limit; the client waits for that. */
    @Test
    void aStatementThatTheServerCancelsKeepsItsConnection() {
        boolean same = connections
                .connect()
                .chain(connection -> backend(connection)
                        .chain(first -> failing(connection, "select pg_sleep(30)")
                                .chain(() -> backend(connection))
                                .map(first::equals))
                        .eventually(connection::close))
                .await()
                .atMost(Duration.ofSeconds(30));

        assertThat(same).isTrue();
    }

    private static Uni<Long> backend(SqlConnection connection) {
        return connection
                .preparedQuery("select pg_backend_pid()::bigint")
                .execute()
                .map(rows -> rows.iterator().next().getLong(0));
    }

    private static Uni<Void> failing(SqlConnection connection, String statement) {
        return connection
                .preparedQuery(statement)
                .execute()
                .replaceWith(false)
                .onFailure()
                .recoverWithItem(true)
                .invoke(failed -> assertThat(failed).as(statement).isTrue())
                .replaceWithVoid();
    }

    private UUID insertPastTheFrozenPath(Project project) throws Exception {
        try (Connection connection = log.connect()) {
            UUID id = SqlFixture.insert(connection, project.id(), "past the path");
            connection.commit();
            return id;
        }
    }

    /** The next event of the stream; its heartbeats continue while it stands still. */
    private static String next(SseStream stream) throws Exception {
        return CompletableFuture.supplyAsync(() -> {
                    try {
                        return stream.nextEvent().data();
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                })
                .get(20, TimeUnit.SECONDS);
    }

    private int ready() {
        return given().get("/q/health/ready").statusCode();
    }

    private long counted(Project project) {
        return project.request()
                .get("/v1/project-logs/statistics")
                .then()
                .statusCode(200)
                .extract()
                .jsonPath()
                .getLong("through");
    }

    private CompletableFuture<HttpResponse<String>> append(UUID id) {
        return send(request(written, "/v1/project-logs")
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString("{\"id\": \"" + id + "\", \"action\": \"a\"}")));
    }

    private HttpRequest.Builder request(Project project, String path) {
        return HttpRequest.newBuilder(service.resolve(path)).header("Authorization", "Bearer " + project.token());
    }

    private CompletableFuture<HttpResponse<String>> send(HttpRequest.Builder request) {
        return http.sendAsync(request.build(), HttpResponse.BodyHandlers.ofString());
    }
}
