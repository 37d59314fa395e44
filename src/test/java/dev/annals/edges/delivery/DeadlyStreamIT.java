package dev.annals.edges.delivery;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.embedded.TestDatabase;
import io.restassured.response.Response;
import java.sql.Connection;
import java.sql.Statement;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The service dies while it delivers: the stream that it dies of stops, and no other one does. */
@Slow
class DeadlyStreamIT {

    private static final String STREAM = "/v1/streams/events";

    private final DatabaseUrl database = TestDatabase.createDatabase();
    private final CountDownLatch never = new CountDownLatch(1);
    private final AtomicInteger arrived = new AtomicInteger();
    private ServiceProcess service;
    private Receiver deadly;

    @BeforeEach
    void start() throws Exception {
        deadly = new Receiver();
        deadly.behaviour = request -> {
            arrived.incrementAndGet();
            return hang();
        };
        service = started();
    }

    @AfterEach
    void stop() {
        never.countDown();
        service.close();
        deadly.close();
    }

    private ServiceProcess started() throws Exception {
        return StreamingService.start(database, "ANNALS_STREAMS_LEASE", "1s");
    }

    private Receiver.Answer hang() {
        try {
            never.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return Receiver.Answer.of(503);
    }

    /** Whether the deadly stream is delivered beside another one. */
    private boolean isJoined(int times) {
        for (int i = 0; i < 100 && arrived.get() < times; i++) {
            LockSupport.parkNanos(10_000_000);
        }
        return arrived.get() >= times;
    }

    /** A project with so many records, and a stream to this receiver. */
    private Project streamTo(Receiver receiver, int records) throws Exception {
        Project project = service.newProject(AuditLogFixture.ADMIN_TOKEN, "read", "write", "stream");
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement()) {
            statement.execute("insert into annals.audit_record (project_id, action) select '" + project.id()
                    + "', 'act' from generate_series(1, " + records + ")");
        }
        given().header("Authorization", "Bearer " + project.token())
                .contentType("application/json")
                .body(Map.of("sink", Map.of("type", "webhook", "url", receiver.url(), "secret", Receiver.SECRET)))
                .put(service.uri(STREAM))
                .then()
                .statusCode(201);
        return project;
    }

    private Response get(Project project) {
        return given().header("Authorization", "Bearer " + project.token()).get(service.uri(STREAM));
    }

    @Test
    void theStreamThatItDiesOfStopsAndItsNeighboursDeliver() throws Exception {
        AtomicInteger neighbours = new AtomicInteger();
        Receiver neighbour = new Receiver();
        // Never done while the deadly one is under way.
        Function<Receiver.Delivered, Receiver.Answer> slow = request -> {
            neighbours.incrementAndGet();
            return hang();
        };
        neighbour.behaviour = slow;
        Receiver busy = new Receiver();
        busy.behaviour = request -> new Receiver.Answer(204, Map.of(), 50);
        try (neighbour;
                busy) {
            Project hostile = streamTo(deadly, 1);
            Project beside = streamTo(neighbour, 1);
            Project progressing = streamTo(busy, 20_000);
            for (int death = 1; death <= 3; death++) {
                int before = death;
                if (death == 3) {
                    neighbour.behaviour = request -> isJoined(before) ? hang() : Receiver.Answer.OK;
                }
                int taken = busy.requests.size();
                Await.until("the deadly one is under way", () -> arrived.get() >= before);
                if (death < 3) {
                    Await.until("its neighbour is under way", () -> neighbours.get() >= before);
                    Await.until("the other one delivers", () -> busy.requests.size() > taken + 2);
                }
                service.close();
                if (death == 3) {
                    neighbour.behaviour = request -> Receiver.Answer.OK;
                }
                service = started();
            }
            Await.until("it stops", () -> "stopped".equals(get(hostile).path("state")));
            assertThat(get(hostile).<String>path("stop_reason")).startsWith("The service died 3 times");
            try (Connection connection = database.connect()) {
                assertThat(SqlFixture.texts(
                                connection,
                                "select action from annals.feed where project_id = annals.administration() and"
                                        + " subject_type = 'stream' and metadata #>> '{after,project_id}' = '"
                                        + hostile.id() + "' order by sequence_id"))
                        .containsExactly("annals.stream.set", "annals.stream.stop");
            }
            Await.until("the neighbour has all", () -> get(beside).<Integer>path("lag") == 0);
            Await.until("the other one has all", () -> get(progressing).<Integer>path("lag") == 0);
            assertThat(busy.taken()).hasSize(20_000);
            assertThat(get(beside).<String>path("state")).isEqualTo("active");
            assertThat(get(progressing).<String>path("state")).isEqualTo("active");
            assertThat(service.output).anyMatch(line -> line.contains("is stopped: The service died 3 times"));
            deadly.behaviour = request -> Receiver.Answer.OK;
            given().header("Authorization", "Bearer " + hostile.token())
                    .post(service.uri(STREAM + "/resume"))
                    .then()
                    .statusCode(200);
            Await.until("resumed, it delivers", () -> get(hostile).<Integer>path("lag") == 0);
        }
    }

    @Test
    @TakesLong
    void oneThatIsUnderWayAtEachRestartGoesOn() throws Exception {
        Project project = streamTo(deadly, 1);
        for (int restart = 1; restart <= 4; restart++) {
            int before = restart;
            Await.until("it is under way", () -> arrived.get() >= before);
            service.process().destroy();
            assertThat(service.process().waitFor()).isIn(0, 143);
            service = started();
        }
        deadly.behaviour = request -> Receiver.Answer.OK;
        Await.until("it delivers", () -> get(project).<Integer>path("lag") == 0);
        assertThat(get(project).<String>path("state")).isEqualTo("active");
    }
}
