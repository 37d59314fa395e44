package dev.annals.core.append;

import static dev.annals.AuditLogFixture.batch;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ManagementPort;
import dev.annals.OneByOne;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import jakarta.inject.Inject;
import java.net.URI;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Appends while a commit of their project is held up: what gathers behind it, and what is turned away. */
@QuarkusTest
@OneByOne
@Timeout(60)
@TestProfile(ShortQueue.class)
class QueuedAppendsIT {

    private static final int QUEUE = ShortQueue.REQUESTS;

    @Inject
    AuditLogFixture log;

    @TestHTTPResource("/")
    URI service;

    private AppendClient client;
    private Project project;
    private Connection holder;

    @BeforeEach
    void makeProject() throws SQLException {
        client = new AppendClient(service);
        project = log.newProject();
        holder = log.connect();
    }

    /** Inserts a record and keeps the feed's lock: every other commit of the project waits for it. */
    private void holdTheFeed() throws SQLException {
        AuditLogFixture.insert(holder, project.id(), "holds the feed");
        AuditLogFixture.lockFeed(holder, project.id());
    }

    @AfterEach
    void checkFeed() throws SQLException {
        holder.close();
        log.checkFeed(project.id());
    }

    @Test
    void requestsThatArriveDuringACommitShareTheNext() throws Exception {
        holdTheFeed();
        List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
        answers.add(append("first"));
        awaitWaitingCommit();
        for (int i = 0; i < QUEUE; i++) {
            answers.add(append("gathered"));
        }
        awaitFullQueue();
        holder.commit();
        for (CompletableFuture<HttpResponse<String>> answer : answers) {
            assertThat(answer.get(30, TimeUnit.SECONDS).statusCode()).isIn(201, 503);
        }
        assertThat(answers.get(0).get().statusCode()).isEqualTo(201);
        // The holder's, the first request's, and one for all that gathered.
        assertThat(log.number("select count(*) from annals.feed_segment where project_id = '" + project.id() + "'"))
                .isEqualTo(3);
        assertThat(log.checkFeed(project.id())).isEqualTo(2 + QUEUE);
    }

    @Test
    void aFullQueueTurnsRequestsAwayAtOnceAndLosesNone() throws Exception {
        holdTheFeed();
        List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
        answers.add(append("first"));
        awaitWaitingCommit();
        for (int i = 0; i < 3 * QUEUE; i++) {
            answers.add(append("more"));
        }
        Await.until(
                "all that do not fit are turned away",
                () -> answers.stream().filter(CompletableFuture::isDone).count() == 2 * QUEUE);
        HttpResponse<String> turnedAway = answers.stream()
                .filter(CompletableFuture::isDone)
                .findFirst()
                .orElseThrow()
                .join();
        assertThat(turnedAway.statusCode()).isEqualTo(503);
        assertThat(turnedAway.headers().firstValue("Retry-After")).isPresent();
        assertThat(turnedAway.headers().firstValue("Content-Type")).contains("application/problem+json");
        assertThat(turnedAway.body()).contains("urn:annals:problem:queue-full");
        holder.commit();
        int stored = 0;
        for (CompletableFuture<HttpResponse<String>> answer : answers) {
            stored += answer.get(30, TimeUnit.SECONDS).statusCode() == 201 ? 1 : 0;
        }
        assertThat(stored).isEqualTo(1 + QUEUE);
        assertThat(log.checkFeed(project.id())).isEqualTo(1 + stored);
    }

    @Test
    void aQueueTakesSoManyBytesAndAllQueuesTogetherSoMany() throws Exception {
        Project other = log.newProject();
        String large = record("x".repeat(60_000));
        holdTheFeed();
        List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
        answers.add(append("first"));
        awaitWaitingCommit();
        answers.add(client.append(project, large));
        awaitQueuedBytes(60_000);
        assertThat(client.append(project, large).get(30, TimeUnit.SECONDS).body())
                .contains("queue-full", "Too many records of this project");
        try (Connection otherHolder = log.connect()) {
            AuditLogFixture.insert(otherHolder, other.id(), "holds the other feed");
            AuditLogFixture.lockFeed(otherHolder, other.id());
            answers.add(client.append(other, record("first")));
            awaitWaitingCommits(2);
            answers.add(client.append(other, large));
            awaitQueuedBytes(120_000);
            assertThat(client.append(other, record("x".repeat(35_000)))
                            .get(30, TimeUnit.SECONDS)
                            .body())
                    .contains("queue-full", "Too many records are waiting");
            answers.add(client.append(other, record("small")));
            otherHolder.commit();
        }
        holder.commit();
        for (CompletableFuture<HttpResponse<String>> answer : answers) {
            assertThat(answer.get(30, TimeUnit.SECONDS).statusCode()).isEqualTo(201);
        }
        assertThat(log.checkFeed(project.id())).isEqualTo(3);
        assertThat(log.checkFeed(other.id())).isEqualTo(4);
        awaitQueuedBytes(0);
    }

    @Test
    void aTransactionTakesSoManyRecordsAndNeverCutsARequest() throws Exception {
        holdTheFeed();
        List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
        answers.add(append("first"));
        awaitWaitingCommit();
        String fifteen = batch("{\"action\": \"a\"},".repeat(14) + "{\"action\": \"a\"}");
        String thirty = batch("{\"action\": \"a\"},".repeat(29) + "{\"action\": \"a\"}");
        for (String body : List.of(fifteen, fifteen, thirty)) {
            answers.add(queue(body));
        }
        holder.commit();
        for (CompletableFuture<HttpResponse<String>> answer : answers) {
            assertThat(answer.get(30, TimeUnit.SECONDS).statusCode()).isEqualTo(201);
        }
        // The holder's, the first request's, and one for each of the three, of which no two fit together.
        assertThat(log.number("select count(*) from annals.feed_segment where project_id = '" + project.id() + "'"))
                .isEqualTo(5);
        assertThat(log.checkFeed(project.id())).isEqualTo(62);
    }

    private static String record(String message) {
        return "{\"action\": \"a\", \"message\": \"" + message + "\"}";
    }

    private static double queuedBytes() throws Exception {
        return ManagementPort.gauge("annals_append_queue_bytes");
    }

    /** Waits until at least so many bytes are queued, or for 0 until none are. */
    private static void awaitQueuedBytes(double bytes) throws Exception {
        Await.until("the queues hold " + bytes + " bytes", () -> {
            double queued = queuedBytes();
            return bytes == 0 ? queued == 0 : queued >= bytes;
        });
    }

    @Test
    void aRecordThatTheDatabaseRefusesFailsItsOwnRequestAlone() throws Exception {
        log.run("alter table annals.audit_record add constraint no_poison check (action <> 'poison') not valid");
        try {
            holdTheFeed();
            CompletableFuture<HttpResponse<String>> first = append("first");
            awaitWaitingCommit();
            // The three wait together before anything is let go.
            CompletableFuture<HttpResponse<String>> before = queue(action("before"));
            CompletableFuture<HttpResponse<String>> poison = queue(action("poison"));
            CompletableFuture<HttpResponse<String>> after = queue(action("after"));
            holder.commit();
            assertThat(first.get(30, TimeUnit.SECONDS).statusCode()).isEqualTo(201);
            assertThat(before.get(30, TimeUnit.SECONDS).statusCode()).isEqualTo(201);
            assertThat(after.get(30, TimeUnit.SECONDS).statusCode()).isEqualTo(201);
            assertThat(poison.get(30, TimeUnit.SECONDS).statusCode()).isEqualTo(422);
            assertThat(log.checkFeed(project.id())).isEqualTo(4);
        } finally {
            holder.rollback();
            log.run("alter table annals.audit_record drop constraint no_poison");
        }
    }

    private CompletableFuture<HttpResponse<String>> append(String action) {
        return client.append(project, action(action));
    }

    private static String action(String action) {
        return "{\"action\": \"" + action + "\"}";
    }

    /** Sends a request of the project, and waits until it is in the queue. */
    private CompletableFuture<HttpResponse<String>> queue(String body) throws Exception {
        double before = queuedBytes();
        CompletableFuture<HttpResponse<String>> answer = client.append(project, body);
        awaitQueuedBytes(before + 1);
        return answer;
    }

    /** Sends until a request is turned away, which shows that the queue is full. */
    private HttpResponse<String> awaitFullQueue() throws Exception {
        for (int i = 0; i < 100; i++) {
            CompletableFuture<HttpResponse<String>> probe = append("probe");
            HttpResponse<String> answer =
                    probe.completeOnTimeout(null, 100, TimeUnit.MILLISECONDS).get();
            if (answer != null) {
                assertThat(answer.statusCode()).isEqualTo(503);
                return answer;
            }
        }
        throw new AssertionError("the queue never filled up");
    }

    private void awaitWaitingCommit() throws Exception {
        awaitWaitingCommits(1);
    }

    private void awaitWaitingCommits(int commits) throws Exception {
        Await.until(
                commits + " commits wait for their feed's lock",
                () -> log.number(AuditLogFixture.WAITING_COMMITS) >= commits);
    }
}
