package dev.annals.core.append;

import static dev.annals.AuditLogFixture.IMPORT;
import static dev.annals.AuditLogFixture.batch;
import static dev.annals.AuditLogFixture.execute;
import static dev.annals.AuditLogFixture.pathOf;
import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.hamcrest.Matchers.contains;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.everyItem;
import static org.hamcrest.Matchers.hasSize;
import static org.hamcrest.Matchers.not;
import static org.hamcrest.Matchers.nullValue;

import dev.annals.Await;
import dev.annals.ProjectTest;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.ValidatableResponse;
import io.restassured.specification.RequestSpecification;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.PGConnection;
import org.postgresql.util.PSQLException;

/** Records that are stored together with a number: over HTTP, and by plain SQL. */
@QuarkusTest
@Timeout(120)
class NumberedRecordTest extends ProjectTest {

    @BeforeEach
    void defineASequence() {
        define("invoice", """
                {"kind": "SYNCHRONOUS", "start": 1043}""");
    }

    @Test
    void aRecordComesBackWithItsNumberAndStandsInEveryReadWithIt() {
        String id = post("""
                {"action": "a", "number": {"sequence": "invoice"}}""")
                .statusCode(201)
                .body("number.sequence", equalTo("invoice"))
                .body("number.value", equalTo(1043))
                .extract()
                .path("id");
        post(project.wrongRequest(), """
                {"action": "b", "number": null}""").statusCode(201).body("number", nullValue());
        get("/" + id).body("number.value", equalTo(1043));
        get("").body("results[0].number.value", equalTo(1043)).body("results[1]", not(containsString("number")));
        get("?order=desc").body("results[1].number.sequence", equalTo("invoice"));
        get("?action=a").body("results[0].number.value", equalTo(1043));
    }

    @Test
    void numbersOfABatchFollowItsOrderInEachSequence() {
        define("order", "{\"kind\": \"SYNCHRONOUS\"}");
        for (int i = 0; i < 2; i++) {
            post(batch(
                            record("order"),
                            record("invoice"),
                            "{\"action\": \"none\"}",
                            record("invoice"),
                            record("order")))
                    .statusCode(201)
                    .body("results.number.value", contains(1 + 2 * i, 1043 + 2 * i, 1044 + 2 * i, 2 + 2 * i));
        }
        get("").body("results.number.value", contains(1, 1043, 1044, 2, 3, 1045, 1046, 4));
    }

    @Test
    void aRepeatedRequestAnswersAsTheFirstTimeAndUsesNoNumber() throws SQLException {
        String one = withId(UUID.randomUUID(), "invoice");
        post(one).statusCode(201).body("number.value", equalTo(1043));
        post(one).statusCode(200).body("number.value", equalTo(1043));
        post(batch(one, record("invoice"))).statusCode(201).body("results.number.value", contains(1043, 1044));
        post(one).statusCode(200).body("number.value", equalTo(1043));
        post(record("invoice")).body("number.value", equalTo(1045));
        assertThat(numbers("invoice")).containsExactly(1043L, 1044L, 1045L);
    }

    @Test
    void theSameIdWithAnotherSequenceIsOtherContentAndUsesNoNumber() throws SQLException {
        define("order", "{\"kind\": \"SYNCHRONOUS\"}");
        UUID id = UUID.randomUUID();
        post(withId(id, "invoice")).statusCode(201);
        post(withId(id, "order")).statusCode(409).body("errors.pointer", contains("/id"));
        post("{\"id\": \"" + id + "\", \"action\": \"a\"}").statusCode(409);
        post(batch(record("order"), withId(id, "order")))
                .statusCode(409)
                .body("errors.pointer", contains("/records/1/id"));
        post(record("order")).body("number.value", equalTo(1));
        assertThat(numbers("invoice")).containsExactly(1043L);
    }

    @Test
    void aSequenceThatHasNoNumberIsNamedAndNothingIsStored() throws SQLException {
        define("gone", "{\"kind\": \"SYNCHRONOUS\"}");
        define("fast", "{\"kind\": \"ASYNC_BATCH\"}");
        define("short", """
                {"kind": "SYNCHRONOUS", "max_value": 3}""");
        project.request().delete("/v1/sequences/gone").then().statusCode(204);
        for (String sequence : List.of("unknown", "gone", "fast")) {
            post(record(sequence)).statusCode(422).body("errors.pointer", contains("/number/sequence"));
        }
        post(batch(
                        record("short"),
                        record("unknown"),
                        record("invoice"),
                        record("gone"),
                        record("fast"),
                        record("short"),
                        record("short"),
                        record("short")))
                .statusCode(422)
                .body("type", equalTo("urn:annals:problem:invalid-record"))
                .body(
                        "errors.pointer",
                        contains(
                                "/records/1/number/sequence",
                                "/records/3/number/sequence",
                                "/records/4/number/sequence",
                                "/records/7/number/sequence"))
                .body("errors[0].detail", containsString("PUT /v1/sequences/unknown"))
                .body("errors[1].detail", containsString("deleted"))
                .body("errors[2].detail", containsString("ASYNC_BATCH"))
                .body("errors[3].detail", containsString("exhausted"));
        get("").body("results", hasSize(0));
        post(batch(record("short"), record("short"), record("short"), record("invoice")))
                .statusCode(201)
                .body("results.number.value", contains(1, 2, 3, 1043));
        post(record("short")).statusCode(422);
        assertThat(numbers("short")).containsExactly(1L, 2L, 3L);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "7",
                "\"invoice\"",
                "[]",
                "{}",
                "{\"sequence\": null}",
                "{\"sequence\": 7}",
                "{\"sequence\": \"\"}",
                "{\"sequence\": \"a b\"}",
                """
                        {"sequence": "invoice", "value": 1043}""",
                """
                        {"sequence": "invoice", "sequence": "invoice"}""",
                """
                        {"sequence": "invoice", "x": 1}"""
            })
    void aNumberThatIsNotExactlyTheNameOfASequenceIsRefused(String number) throws SQLException {
        given().spec(project.wrongRequest())
                .contentType("application/json")
                .body("{\"action\": \"a\", \"number\": " + number + "}")
                .post("/v1/project-logs")
                .then()
                .statusCode(422)
                .body("errors", hasSize(1))
                .body("errors[0].pointer", containsString("/number"));
        assertThat(numbers("invoice")).isEmpty();
    }

    @Test
    void linesOfNdjsonAreNumberedInTheirOrderAndThoseWithoutANumberToBeHadAreNamed() throws SQLException {
        define("short", """
                {"kind": "SYNCHRONOUS", "max_value": 150}""");
        StringBuilder body = new StringBuilder();
        List<Long> invoices = new ArrayList<>();
        for (int i = 0; i < 5_000; i++) {
            // Long runs with and without numbers, so that whole batches of the body go different ways.
            boolean numbered = i / 1_500 % 2 == 0;
            String sequence = i % 100 == 7 ? "unknown" : i % 10 == 0 ? "short" : "invoice";
            body.append(numbered ? record(sequence) : "{\"action\": \"none\"}").append('\n');
            if (numbered && sequence.equals("invoice")) {
                invoices.add(1_043L + invoices.size());
            }
        }
        // Numbered are the lines 0 to 1499 and 3000 to 4499: 300 of them are short of 150 numbers, 30 of any sequence.
        project.wrongRequest()
                .contentType("application/x-ndjson")
                .body(body.toString().getBytes(StandardCharsets.UTF_8))
                .post(IMPORT)
                .then()
                .statusCode(200)
                .body("stored", equalTo(5_000 - 150 - 30))
                .body("refused", equalTo(180))
                .body("refusals[0].line", equalTo(8))
                .body("refusals.problem.type", everyItem(equalTo("urn:annals:problem:invalid-record")))
                .body("refusals[0].problem.errors[0].pointer", equalTo("/number/sequence"));
        assertThat(numbers("invoice")).isEqualTo(invoices);
        assertThat(numbers("short"))
                .isEqualTo(LongStream.rangeClosed(1, 150).boxed().toList());
    }

    @Test
    void aLockedSequenceDelaysOnlyRecordsThatAskForItsNumbers() throws Exception {
        try (Connection holder = log.connectAsWriter()) {
            insert(holder, "invoice");
            CompletableFuture<Integer> numbered = CompletableFuture.supplyAsync(
                    () -> post(record("invoice")).extract().path("number.value"));
            awaitRowLockWaiter();
            post("{\"action\": \"not delayed\"}").statusCode(201);
            assertThat(numbered).isNotDone();
            holder.rollback();
            assertThat(numbered.get(60, TimeUnit.SECONDS)).isEqualTo(1043);
        }
    }

    @Test
    void aPlainSqlInsertThatNamesASequenceIsNumberedAndARollbackUsesNoNumber() throws SQLException {
        try (Connection writer = log.connectAsWriter()) {
            insert(writer, "invoice");
            writer.rollback();
            insert(writer, "invoice");
            Savepoint savepoint = writer.setSavepoint();
            insert(writer, "invoice");
            writer.rollback(savepoint);
            execute(
                    writer,
                    "insert into annals.audit_record (project_id, action, number_sequence) select '" + project.id()
                            + "', 'many', case when i % 2 = 0 then 'invoice' end from generate_series(1, 600) i");
            writer.commit();
        }
        post(record("invoice")).body("number.value", equalTo(1344));
        assertThat(numbers("invoice"))
                .isEqualTo(LongStream.rangeClosed(1043, 1344).boxed().toList());
    }

    @Test
    void aPlainSqlWriterCannotForgeANumber() throws SQLException {
        try (Connection writer = log.connectAsWriter()) {
            assertFails(writer, "42501", insertInto("number_sequence, number_value", "'invoice', 1043"));
            assertFails(writer, "42501", insertInto("number_value", "1043"));
            assertFails(writer, "42501", "update annals.sequence set next_value = 1");
            assertFails(writer, "23503", insertInto("number_sequence", "'unknown'"));
        }
        try (Connection owner = log.connect()) {
            assertFails(owner, "23514", insertInto("number_value", "1043"));
            execute(owner, insertInto("number_sequence, number_value", "'invoice', 7"));
            assertFails(owner, "23505", insertInto("number_sequence, number_value", "'invoice', 7"));
            owner.rollback();
        }
        assertThat(numbers("invoice")).isEmpty();
    }

    @Test
    void aNumberedRecordThatIsSkippedUsesNoNumber() throws SQLException {
        UUID id = UUID.randomUUID();
        try (Connection writer = log.connectAsWriter()) {
            execute(writer, insertInto("id, number_sequence", "'" + id + "', 'invoice'"));
            writer.commit();
            execute(writer, insertInto("id, number_sequence", "'" + id + "', 'invoice'") + " on conflict do nothing");
            execute(writer, insertInto("number_sequence", "'invoice'") + " on conflict do nothing");
            execute(
                    writer,
                    "insert into annals.audit_record (project_id, id, action, number_sequence) values "
                            + row(UUID.randomUUID()) + "," + row(id) + "," + row(UUID.randomUUID())
                            + " on conflict do nothing");
            writer.commit();
        }
        post(record("invoice")).body("number.value", equalTo(1047));
        assertThat(numbers("invoice")).containsExactly(1043L, 1044L, 1045L, 1046L, 1047L);
    }

    private String row(UUID id) {
        return "('" + project.id() + "', '" + id + "', 'a', 'invoice')";
    }

    @Test
    void oneStatementDrawsFromSeveralSequencesOfSeveralProjects() throws Exception {
        define("order", "{\"kind\": \"SYNCHRONOUS\"}");
        UUID other = log.newProject().id();
        try (Connection owner = log.connect();
                Connection writer = log.connectAsWriter()) {
            execute(owner, """
                    insert into annals.sequence (id, project_id, next_value, start, max_value, batch_size, low_water_mark, kind, name)
                    values (gen_random_uuid(), '%s', 7, 7, 1000, 1, 0, 'SYNCHRONOUS', 'invoice')
                    """.formatted(other));
            owner.commit();
            StringBuilder rows = new StringBuilder();
            for (int i = 0; i < 300; i++) {
                rows.append(i % 3 == 0 ? other : project.id())
                        .append("\ta\t")
                        .append(i % 3 == 1 ? "order" : "invoice")
                        .append('\n');
            }
            for (int i = 0; i < 2; i++) {
                writer.unwrap(PGConnection.class)
                        .getCopyAPI()
                        .copyIn(
                                "copy annals.audit_record (project_id, action, number_sequence) from stdin",
                                new StringReader(rows.toString()));
                writer.commit();
            }
        }
        log.checkFeed(other);
        assertThat(numbers("invoice"))
                .isEqualTo(LongStream.rangeClosed(1043, 1242).boxed().toList());
        assertThat(numbers("order"))
                .isEqualTo(LongStream.rangeClosed(1, 200).boxed().toList());
        assertThat(numbers(other, "invoice"))
                .isEqualTo(LongStream.rangeClosed(7, 206).boxed().toList());
    }

    @Test
    void aStatementThatWantsMoreValuesThanThereAreUsesNone() throws SQLException {
        define("short", """
                {"kind": "SYNCHRONOUS", "max_value": 3}""");
        try (Connection writer = log.connectAsWriter()) {
            assertFails(
                    writer,
                    "23503",
                    "insert into annals.audit_record (project_id, action, number_sequence) select '" + project.id()
                            + "', 'a', 'short' from generate_series(1, 4)");
            execute(
                    writer,
                    "insert into annals.audit_record (project_id, action, number_sequence) select '" + project.id()
                            + "', 'a', 'short' from generate_series(1, 3)");
            writer.commit();
            assertFails(writer, "23503", insertInto("number_sequence", "'short'"));
        }
        assertThat(numbers("short")).containsExactly(1L, 2L, 3L);
    }

    private String insertInto(String columns, String values) {
        return "insert into annals.audit_record (project_id, action, " + columns + ") values ('" + project.id()
                + "', 'a', " + values + ")";
    }

    private void insert(Connection connection, String sequence) throws SQLException {
        execute(connection, insertInto("number_sequence", "'" + sequence + "'"));
    }

    private static void assertFails(Connection connection, String state, String sql) throws SQLException {
        Savepoint before = connection.setSavepoint();
        assertThatThrownBy(() -> execute(connection, sql))
                .as(sql)
                .isInstanceOfSatisfying(
                        PSQLException.class, e -> assertThat(e.getSQLState()).isEqualTo(state));
        connection.rollback(before);
    }

    /** The numbers of a sequence, in the order of the feed. */
    private List<Long> numbers(String sequence) throws SQLException {
        return numbers(project.id(), sequence);
    }

    private List<Long> numbers(UUID projectId, String sequence) throws SQLException {
        return log.numbers("select number_value from annals.feed where project_id = '" + projectId
                + "' and number_sequence = '" + sequence + "' order by sequence_id");
    }

    private void awaitRowLockWaiter() throws Exception {
        Await.until("a transaction waits for the sequence", () -> log.number("""
                select count(*) from pg_locks join pg_stat_activity using (pid)
                where locktype = 'transactionid' and not granted and datname = current_database()
                """) > 0);
    }

    private static String record(String sequence) {
        return "{\"action\": \"a\", \"number\": {\"sequence\": \"" + sequence + "\"}}";
    }

    private static String withId(UUID id, String sequence) {
        return "{\"id\": \"" + id + "\", \"action\": \"a\", \"number\": {\"sequence\": \"" + sequence + "\"}}";
    }

    private void define(String name, String definition) {
        project.request()
                .contentType("application/json")
                .body(definition)
                .put("/v1/sequences/" + name)
                .then()
                .statusCode(201);
    }

    private ValidatableResponse post(String body) {
        return post(project.request(), body);
    }

    private static ValidatableResponse post(RequestSpecification request, String body) {
        return request.contentType("application/json")
                .body(body)
                .post(pathOf(body))
                .then();
    }

    private ValidatableResponse get(String path) {
        return project.request().get("/v1/project-logs" + path).then().statusCode(200);
    }
}
