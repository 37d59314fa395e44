package dev.annals.core.append;

import static dev.annals.AuditLogFixture.IMPORT;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.NothingByItself;
import dev.annals.OneByOne;
import dev.annals.ProjectTest;
import dev.annals.SqlFixture;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import io.restassured.path.json.JsonPath;
import java.net.URI;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
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

/** An open transaction of plain SQL has inserted ids that clients send: each such request is told to retry, and no other. */
@QuarkusTest
@OneByOne
@TestProfile(NothingByItself.class)
@Timeout(120)
class HeldIdsIT extends ProjectTest {

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

    private static void assertUnavailable(CompletableFuture<HttpResponse<String>> request) throws Exception {
        HttpResponse<String> answer = answer(request);
        assertThat(answer.statusCode()).isEqualTo(503);
        assertThat(answer.headers().firstValue("Content-Type")).contains("application/problem+json");
        assertThat(answer.headers().firstValue("Retry-After")).isPresent();
        assertThat(answer.body()).contains("urn:annals:problem:unavailable", "holds the id of a record");
    }

    @Test
    void theRequestIsToldToRetryAndIsStoredOnceTheOtherTransactionIsRolledBack() throws Exception {
        String body = record(hold(project));
        assertUnavailable(append(project, body));
        assertGoesOn(project);
        assertGoesOn(log.newProject());
        holder.rollback();
        assertThat(answer(append(project, body)).statusCode()).isEqualTo(201);
        assertThat(log.checkFeed(project.id())).isEqualTo(31);
    }

    @Test
    void aRetryFindsTheIdTakenOnceTheOtherTransactionIsCommitted() throws Exception {
        UUID id = hold(project);
        assertUnavailable(append(project, record(id)));
        holder.commit();
        assertThat(answer(append(project, record(id))).statusCode()).isEqualTo(200);
        assertThat(answer(append(project, record(id, "other"))).statusCode()).isEqualTo(409);
        assertThat(log.checkFeed(project.id())).isEqualTo(1);
    }

    /** Requests of more projects than the service has connections are answered while the transaction is open. */
    @Test
    void requestsWithHeldIdsDelayNoOtherRequest() throws Exception {
        List<CompletableFuture<HttpResponse<String>>> held = new ArrayList<>();
        for (int i = 0; i < 24; i++) {
            Project each = log.newProject();
            held.add(append(each, record(hold(each))));
            held.add(append(each, record(hold(each))));
            held.add(append(project, record(hold(project))));
        }
        assertGoesOn(project);
        assertGoesOn(log.newProject());
        for (CompletableFuture<HttpResponse<String>> request : held) {
            assertUnavailable(request);
        }
        log.checkFeed(project.id());
    }

    @Test
    void aBatchWithSuchAnIdIsNotStoredInPart() throws Exception {
        String body = AuditLogFixture.batch(
                record(UUID.randomUUID(), "a"), record(hold(project)), record(UUID.randomUUID(), "b"));
        assertUnavailable(append(project, body));
        assertGoesOn(project);
        holder.rollback();
        assertThat(answer(append(project, body)).statusCode()).isEqualTo(201);
        assertThat(log.texts("select action from annals.feed where project_id = '" + project.id()
                        + "' and action <> 'free' order by sequence_id"))
                .containsExactly("a", "held", "b");
    }

    @Test
    void anImportSaysHowFarItCameAndStoresNoLineBehindSuchALine() throws Exception {
        List<UUID> lines =
                IntStream.range(0, 5 * BATCH).mapToObj(i -> UUID.randomUUID()).collect(Collectors.toList());
        lines.set(2 * BATCH + 3, hold(project));
        String body = lines.stream().map(id -> record(id) + "\n").collect(Collectors.joining());
        CompletableFuture<HttpResponse<String>> upload = client.post(project, IMPORT, "application/x-ndjson", body);
        assertUnavailable(upload);
        assertThat(JsonPath.from(upload.join().body()).getInt("settled_lines")).isEqualTo(2 * BATCH);
        assertThat(log.feed(project.id())).containsExactlyElementsOf(lines.subList(0, 2 * BATCH));
        holder.rollback();
        assertThat(answer(client.post(project, IMPORT, "application/x-ndjson", body))
                        .statusCode())
                .isEqualTo(200);
        assertThat(log.feed(project.id())).containsExactlyElementsOf(lines);
    }

    @Test
    void recordsWithNumbersAreToldToRetryAndDelayNoOthers() throws Exception {
        project.request()
                .contentType("application/json")
                .body("""
                        {"kind": "SYNCHRONOUS"}""")
                .put("/v1/sequences/invoice")
                .then()
                .statusCode(201);
        String number = ", \"number\": {\"sequence\": \"invoice\"}}";
        String body = record(hold(project)).replace("}", number);
        CompletableFuture<HttpResponse<String>> held = append(project, body);
        for (int i = 0; i < 5; i++) {
            assertThat(append(project, "{\"action\": \"free\"" + number)
                            .get(20, TimeUnit.SECONDS)
                            .statusCode())
                    .isEqualTo(201);
        }
        assertUnavailable(held);
        holder.rollback();
        assertThat(answer(append(project, body)).statusCode()).isEqualTo(201);
        assertThat(log.numbers("select number_value from annals.feed where project_id = '" + project.id()
                        + "' order by sequence_id"))
                .containsExactly(1L, 2L, 3L, 4L, 5L, 6L);
    }

    /** Others wait for a locked sequence for as long as it takes. */
    @Test
    void aHeldIdIsFoundEvenIfTheSequenceIsLocked() throws Exception {
        project.request()
                .contentType("application/json")
                .body("""
                        {"kind": "SYNCHRONOUS"}""")
                .put("/v1/sequences/invoice")
                .then()
                .statusCode(201);
        String number = ", \"number\": {\"sequence\": \"invoice\"}}";
        String body = record(hold(project)).replace("}", number);
        try (Connection owner = log.connect()) {
            SqlFixture.execute(
                    owner, "select from annals.sequence where project_id = '" + project.id() + "' for update");
            assertUnavailable(append(project, body));
            CompletableFuture<HttpResponse<String>> free = append(project, "{\"action\": \"free\"" + number);
            owner.rollback();
            assertThat(answer(free).statusCode()).isEqualTo(201);
        }
    }
}
