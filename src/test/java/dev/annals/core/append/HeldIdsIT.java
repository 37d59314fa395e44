package dev.annals.core.append;

import static dev.annals.AuditLogFixture.IMPORT;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ManagementPort;
import dev.annals.NothingByItself;
import dev.annals.OneByOne;
import dev.annals.ProjectTest;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import java.net.URI;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A SQL transaction that stays open has inserted ids that clients send, too: each request waits alone. */
@QuarkusTest
@OneByOne
@TestProfile(NothingByItself.class)
@Timeout(120)
class HeldIdsIT extends ProjectTest {

    private static final int HELD_REQUESTS = NothingByItself.HELD_REQUESTS;
    private static final int BATCH = NothingByItself.BATCH;

    private AppendClient client;
    private Connection holder;

    @TestHTTPResource("/")
    URI service;

    @BeforeEach
    void openTransaction() throws SQLException {
        client = new AppendClient(service);
        holder = log.connectAsWriter();
    }

    @AfterEach
    void endTransaction() throws SQLException {
        holder.close();
    }

    private UUID hold(Project in) throws SQLException {
        UUID id = UUID.randomUUID();
        try (PreparedStatement insert = holder.prepareStatement(
                "insert into annals.audit_record (project_id, id, action) values (?, ?, 'held')")) {
            insert.setObject(1, in.id());
            insert.setObject(2, id);
            insert.executeUpdate();
        }
        return id;
    }

    private CompletableFuture<HttpResponse<String>> append(Project to, String body) {
        return client.append(to, body);
    }

    private static String record(UUID id) {
        return record(id, "held");
    }

    private static String record(UUID id, String action) {
        return "{\"id\": \"" + id + "\", \"action\": \"" + action + "\"}";
    }

    /** Appends several records at a time for several rounds; none of them waits for what is held. */
    private void assertGoesOn(Project to) throws Exception {
        for (int round = 0; round < 3; round++) {
            List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                answers.add(append(to, "{\"action\": \"free\"}"));
            }
            for (CompletableFuture<HttpResponse<String>> answer : answers) {
                assertThat(answer.get(20, TimeUnit.SECONDS).statusCode()).isEqualTo(201);
            }
        }
    }

    private static HttpResponse<String> answer(CompletableFuture<HttpResponse<String>> request) throws Exception {
        return request.get(30, TimeUnit.SECONDS);
    }

    private static void assertToldToComeAgain(HttpResponse<String> answer, String why) {
        assertThat(answer.statusCode()).isEqualTo(503);
        assertThat(answer.headers().firstValue("Content-Type")).contains("application/problem+json");
        assertThat(answer.headers().firstValue("Retry-After")).isPresent();
        assertThat(answer.body()).contains(why);
    }

    @Test
    void theRequestWaitsAloneAndIsStoredOnceTheOtherTransactionIsRolledBack() throws Exception {
        CompletableFuture<HttpResponse<String>> waiting = append(project, record(hold(project)));
        assertGoesOn(project);
        assertGoesOn(log.newProject());
        assertThat(waiting).isNotDone();
        holder.rollback();
        assertThat(answer(waiting).statusCode()).isEqualTo(201);
        assertThat(log.checkFeed(project.id())).isEqualTo(31);
    }

    @Test
    void itFindsItsIdTakenOnceTheOtherTransactionIsCommitted() throws Exception {
        CompletableFuture<HttpResponse<String>> same = append(project, record(hold(project)));
        CompletableFuture<HttpResponse<String>> other = append(project, record(hold(project), "other"));
        assertGoesOn(project);
        assertThat(List.of(same, other)).noneMatch(CompletableFuture::isDone);
        holder.commit();
        assertThat(answer(same).statusCode()).isEqualTo(200);
        assertThat(answer(other).statusCode()).isEqualTo(409);
        assertThat(log.checkFeed(project.id())).isEqualTo(32);
    }

    @Test
    void oneWhoseIdIsFreeAgainDoesNotWaitForTwoThatHaveTheSame() throws Exception {
        UUID shared = hold(project);
        Savepoint before = holder.setSavepoint();
        UUID own = hold(project);
        CompletableFuture<HttpResponse<String>> first = append(project, record(shared));
        CompletableFuture<HttpResponse<String>> again = append(project, record(shared));
        CompletableFuture<HttpResponse<String>> other = append(project, record(own));
        assertGoesOn(project);
        assertThat(List.of(first, again, other)).noneMatch(CompletableFuture::isDone);
        holder.rollback(before);
        assertThat(answer(other).statusCode()).isEqualTo(201);
        assertThat(List.of(first, again)).noneMatch(CompletableFuture::isDone);
        holder.rollback();
        assertThat(List.of(answer(first).statusCode(), answer(again).statusCode()))
                .containsExactlyInAnyOrder(200, 201);
        assertThat(log.checkFeed(project.id())).isEqualTo(32);
    }

    @Test
    void noMoreThanSoManyOfAProjectWaitAndTheOthersAreTurnedAwayAtOnce() throws Exception {
        List<CompletableFuture<HttpResponse<String>>> held = new ArrayList<>();
        for (int i = 0; i < 5 * HELD_REQUESTS; i++) {
            held.add(append(project, record(hold(project))));
        }
        Await.until(
                "all for which there is no room are turned away",
                () -> held.stream().filter(CompletableFuture::isDone).count() == 4 * HELD_REQUESTS);
        assertGoesOn(project);
        assertGoesOn(log.newProject());
        int stored = 0;
        holder.rollback();
        for (CompletableFuture<HttpResponse<String>> request : held) {
            if (answer(request).statusCode() == 201) {
                stored++;
            } else {
                assertToldToComeAgain(answer(request), "hold");
            }
        }
        assertThat(stored).isEqualTo(HELD_REQUESTS);
    }

    /** More projects than there are connections, each with ids that are held. */
    @Test
    void thoseWhoWaitHoldFewConnectionsAndNoTransaction() throws Exception {
        List<CompletableFuture<HttpResponse<String>>> held = new ArrayList<>();
        List<Project> projects = new ArrayList<>();
        for (int i = 0; i < 24; i++) {
            projects.add(log.newProject());
            held.add(append(projects.get(i), record(hold(projects.get(i)))));
            held.add(append(projects.get(i), record(hold(projects.get(i)))));
        }
        assertGoesOn(log.newProject());
        Await.until("all of them wait", () -> ManagementPort.gauge("annals_append_held_requests") == held.size());
        for (int look = 0; look < 50; look++) {
            assertThat(log.number("""
                    select count(*) from pg_stat_activity
                    where application_name = 'annals' and datname = current_database() and wait_event_type = 'Lock'
                    """)).isLessThanOrEqualTo(HeldRequests.CONNECTIONS);
        }
        assertThat(held).noneMatch(CompletableFuture::isDone);
        assertGoesOn(projects.get(0));
        holder.rollback();
        for (CompletableFuture<HttpResponse<String>> request : held) {
            assertThat(answer(request).statusCode()).isEqualTo(201);
        }
        for (Project each : projects) {
            log.checkFeed(each.id());
        }
    }

    @Test
    void aBatchWithSuchAnIdWaitsAsAWhole() throws Exception {
        String body = AuditLogFixture.batch(
                record(UUID.randomUUID(), "a"), record(hold(project)), record(UUID.randomUUID(), "b"));
        CompletableFuture<HttpResponse<String>> waiting = append(project, body);
        assertGoesOn(project);
        assertThat(waiting).isNotDone();
        holder.rollback();
        assertThat(answer(waiting).statusCode()).isEqualTo(201);
        assertThat(log.texts("select action from annals.feed where project_id = '" + project.id()
                        + "' and action <> 'free' order by sequence_id"))
                .containsExactly("a", "held", "b");
    }

    @Test
    void linesBehindSuchALineWaitForItAndKeepTheirOrder() throws Exception {
        List<UUID> lines =
                IntStream.range(0, 5 * BATCH).mapToObj(i -> UUID.randomUUID()).collect(Collectors.toList());
        lines.set(2 * BATCH + 3, hold(project));
        CompletableFuture<HttpResponse<String>> upload = client.post(
                project,
                IMPORT,
                "application/x-ndjson",
                lines.stream().map(id -> record(id) + "\n").collect(Collectors.joining()));
        assertGoesOn(project);
        assertThat(upload).isNotDone();
        holder.rollback();
        assertThat(answer(upload).statusCode()).isEqualTo(200);
        assertThat(log.feed(project.id()).stream().filter(lines::contains)).containsExactlyElementsOf(lines);
    }

    @Test
    void recordsWithNumbersWaitForNoneSuchEither() throws Exception {
        project.request()
                .contentType("application/json")
                .body("""
                        {"kind": "SYNCHRONOUS"}""")
                .put("/v1/sequences/invoice")
                .then()
                .statusCode(201);
        String number = ", \"number\": {\"sequence\": \"invoice\"}}";
        CompletableFuture<HttpResponse<String>> waiting =
                append(project, record(hold(project)).replace("}", number));
        for (int i = 0; i < 5; i++) {
            assertThat(append(project, "{\"action\": \"free\"" + number)
                            .get(20, TimeUnit.SECONDS)
                            .statusCode())
                    .isEqualTo(201);
        }
        assertThat(waiting).isNotDone();
        holder.rollback();
        assertThat(answer(waiting).statusCode()).isEqualTo(201);
        assertThat(log.numbers("select number_value from annals.feed where project_id = '" + project.id()
                        + "' order by sequence_id"))
                .containsExactly(1L, 2L, 3L, 4L, 5L, 6L);
    }
}
