package dev.annals.edges.delivery;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** An instance that has lost its lease writes nothing any more, even if its sink acknowledges a batch. */
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
class LeaseTest {

    private static final String STREAM = "/v1/streams/leased";

    private final AuditLogFixture log = new AuditLogFixture();
    private final CountDownLatch answers = new CountDownLatch(1);
    private Project project;
    private Receiver receiver;

    @BeforeEach
    void holdADelivery() throws Exception {
        project = log.newProject("read", "write", "stream");
        log.run("insert into annals.audit_record (project_id, action) select '" + project.id()
                + "', 'act' from generate_series(1, 20)");
        receiver = new Receiver();
        receiver.behaviour = request -> {
            try {
                assertThat(answers.await(30, TimeUnit.SECONDS)).isTrue();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            return Receiver.Answer.OK;
        };
        project.request()
                .contentType("application/json")
                .body("{\"sink\": {\"type\": \"webhook\", \"url\": \"" + receiver.url() + "\", \"secret\": \""
                        + Receiver.SECRET + "\"}}")
                .put(STREAM)
                .then()
                .statusCode(201);
        Await.until("it is under way", () -> receiver.open.get() == 1);
    }

    @AfterEach
    void nothingIsLeft() {
        project.wrongRequest().delete(STREAM);
        receiver.close();
    }

    private void run(String change) throws Exception {
        log.run("update annals.stream_progress as p set " + change
                + " from annals.stream as s where s.id = p.stream_id and s.project_id = '" + project.id() + "'");
    }

    private String cursor() {
        return project.request().get(STREAM).path("cursor");
    }

    private void answer() throws Exception {
        answers.countDown();
        Await.until("it has answered", () -> receiver.requests.size() >= 1 && receiver.open.get() == 0);
    }

    @Test
    void aLostLeaseCannotMoveTheCursor() throws Exception {
        run(
                "epoch = p.epoch + 1, leased_by = gen_random_uuid(), leased_until = clock_timestamp() + interval '3 seconds'");
        answer();
        // Had the cursor moved, nothing would be left to send.
        Await.until("a batch without an acknowledgement is sent again", () -> receiver.requests.size() == 2);
        assertThat(receiver.requests.get(1).sequenceIds().get(0)).isEqualTo(1);
        Await.until("that counts", () -> cursor().startsWith("20-"));
    }

    @Test
    void aStreamThatWasSetToAnotherPlaceMeanwhileGoesOnFromThere() throws Exception {
        project.request()
                .contentType("application/json")
                .body("{\"cursor\": \"12\"}")
                .post(STREAM + "/rewind")
                .then()
                .statusCode(200);
        answer();
        Await.until("it goes on", () -> receiver.requests.size() == 2);
        assertThat(receiver.requests.get(1).sequenceIds()).isEqualTo(List.of(13L, 14L, 15L, 16L, 17L, 18L, 19L, 20L));
    }

    @Test
    void oneThatIsNotRenewedInTimeIsFreeForOthers() throws Exception {
        run(
                "leased_until = clock_timestamp() - interval '1 second', epoch = p.epoch + 1, retry_at = clock_timestamp() + interval '1 minute'");
        // The request that is under way is cut off as soon as the loss is noticed.
        Await.until(
                "it ends",
                () -> log.number("select count(*) from annals.stream_progress as p join annals.stream as s"
                                + " on s.id = p.stream_id where s.project_id = '" + project.id()
                                + "' and p.cursor = '0'")
                        == 1);
        answers.countDown();
        run("retry_at = '-infinity'");
        Await.until("somebody takes it", () -> cursor().startsWith("20-"));
    }
}
