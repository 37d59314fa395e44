package dev.annals.access.holds;

import static dev.annals.ProblemAssertions.assertProblem;
import static dev.annals.ProblemAssertions.pointers;
import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.nullValue;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.Load;
import dev.annals.SqlFixture;
import dev.annals.edges.contract.ContractFilter;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.ExtractableResponse;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** A hold protects its records from redaction, from its commit until it is lifted. */
@QuarkusTest
class LegalHoldTest {

    private static final String LOGS = AuditLogFixture.LOGS;
    /** Redactions by each of three threads while holds are set and lifted. */
    private static final int EACH = Load.times(8, 20);

    private final AuditLogFixture log = new AuditLogFixture();
    private Project project;
    private String path;

    @BeforeEach
    void makeProject() {
        project = log.newProject("read", "write", "redact");
        path = "/v1/projects/" + project.id() + "/holds";
    }

    @AfterEach
    void everythingFollowsFromItsEvents() throws Exception {
        log.checkFeed(project.id());
        assertThat(log.texts("select finding from annals.administration_differences() where finding like '%hold%'"))
                .isEmpty();
    }

    private String append(String actor, String subject) {
        return project.request()
                .contentType("application/json")
                .body("""
                        {"action": "a", "actor": {"id": "%s"}, "subject": {"id": "%s"}, "message": "secret", "outcome": "success"}
                        """.formatted(actor, subject))
                .post(LOGS)
                .then()
                .statusCode(201)
                .extract()
                .path("id");
    }

    private ExtractableResponse<Response> redact(String record, String field) {
        return project.request()
                .contentType("application/json")
                .body("{\"fields\": [\"" + field + "\"], \"reason\": \"By request\"}")
                .post(LOGS + "/" + record + "/redactions")
                .then()
                .extract();
    }

    private void assertRedacted(String record, String field) {
        assertThat(redact(record, field).statusCode()).isEqualTo(200);
    }

    private void assertHeld(String record, String hold) throws Exception {
        assertHeld(record, "message", hold);
    }

    private void assertHeld(String record, String field, String hold) throws Exception {
        long records = log.checkFeed(project.id());
        ExtractableResponse<Response> answer = redact(record, field);
        assertProblem(answer, 409, "legal-hold");
        assertThat(answer.<String>path("detail")).contains(hold);
        assertThat(log.checkFeed(project.id())).isEqualTo(records);
    }

    private String set(String covered) {
        return admin().body("{" + covered + "\"reason\": \"Case 12\"}")
                .post(path)
                .then()
                .statusCode(201)
                .body("lifted_at", nullValue())
                .extract()
                .path("id");
    }

    private Response lift(String hold) {
        return admin().body("{\"reason\": \"The case is closed\"}").post(path + "/" + hold + "/lift");
    }

    private static RequestSpecification admin() {
        return wrongAdmin().filter(ContractFilter.ofRequestsAndAnswers());
    }

    private static RequestSpecification wrongAdmin() {
        return given().header("Authorization", "Bearer " + AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json");
    }

    static Stream<Arguments> covers() {
        return Stream.of(
                Arguments.of("\"actor_id\": \"u-1\", ", List.of(true, true, false, false)),
                Arguments.of("\"subject_id\": \"s-1\", ", List.of(true, false, true, false)),
                Arguments.of("", List.of(true, true, true, true)));
    }

    @ParameterizedTest
    @MethodSource("covers")
    void aHoldStopsTheRedactionOfWhatItCoversUntilItIsLifted(String covered, List<Boolean> held) throws Exception {
        Project other = log.newProject();
        List<String> records =
                List.of(append("u-1", "s-1"), append("u-1", "s-2"), append("u-2", "s-1"), append("U-1", "S-1"));
        assertRedacted(records.get(0), "outcome");
        String hold = set(covered);
        for (int i = 0; i < records.size(); i++) {
            if (held.get(i)) {
                assertHeld(records.get(i), hold);
            } else {
                assertRedacted(records.get(i), "message");
            }
        }
        // A redacted value is not redacted again.
        assertRedacted(records.get(0), "outcome");
        assertThat(log.text(
                        "select annals.is_held('" + project.id() + "') || ' ' || annals.is_held('" + other.id() + "')"))
                .isEqualTo("true false");
        lift(hold).then().statusCode(200);
        for (String record : records) {
            assertRedacted(record, "message");
        }
        assertThat(log.text("select annals.is_held('" + project.id() + "')")).isEqualTo("f");
    }

    @Test
    void oneOfTwoHoldsIsEnough() throws Exception {
        String record = append("u-1", "s-1");
        String first = set("\"actor_id\": \"u-1\", ");
        String second = set("\"subject_id\": \"s-1\", ");
        lift(first).then().statusCode(200);
        assertHeld(record, second);
        lift(second).then().statusCode(200);
        assertRedacted(record, "message");
    }

    @Test
    void settingAndLiftingAHoldAreEventsWithAuthorAndReasonAndTheHoldStaysInTheList() throws Exception {
        String hold = set("\"subject_id\": \"s-1\", ");
        for (int i = 0; i < 2; i++) {
            lift(hold)
                    .then()
                    .statusCode(200)
                    .body("reason", equalTo("Case 12"))
                    .body("lift_reason", equalTo("The case is closed"));
        }
        assertThat(log.texts("""
                        select concat_ws(' ', action, outcome, metadata #>> '{before,subject_id}', metadata #>> '{before,lift_reason}',
                          '->', metadata #>> '{after,subject_id}', metadata #>> '{after,reason}', metadata #>> '{after,lift_reason}')
                        from annals.feed
                        where project_id = annals.administration() and subject_type = 'hold' and subject_id = '%s'
                          and actor_type = 'setting' and ip_address is not null and recorded_by = 'role:' || session_user
                        order by sequence_id
                        """.formatted(hold)))
                .containsExactly(
                        "annals.hold.set success -> s-1 Case 12",
                        "annals.hold.lift success s-1 -> s-1 Case 12 The case is closed");
        String more = set("");
        List<String> listed = new ArrayList<>();
        String next = null;
        do {
            ExtractableResponse<Response> page = admin().get(path + "?limit=1" + (next == null ? "" : "&after=" + next))
                    .then()
                    .statusCode(200)
                    .extract();
            listed.addAll(page.path("holds.id"));
            next = page.path("next");
        } while (next != null);
        assertThat(listed).containsExactly(hold, more);
    }

    static Stream<Arguments> wrongHolds() {
        return Stream.of(
                Arguments.of("{}", "/reason"),
                Arguments.of("{\"reason\": \" \"}", "/reason"),
                Arguments.of("{\"reason\": 1}", "/reason"),
                Arguments.of("{\"reason\": \"r\\u0000\"}", "/reason"),
                Arguments.of("{\"reason\": \"" + "r".repeat(1025) + "\"}", "/reason"),
                Arguments.of("{\"reason\": \"r\", \"actor_id\": \"\"}", "/actor_id"),
                Arguments.of("{\"reason\": \"r\", \"actor_id\": \"\\u0000\"}", "/actor_id"),
                Arguments.of("{\"reason\": \"r\", \"actor_id\": \"\\ud800\"}", "/actor_id"),
                Arguments.of("{\"reason\": \"r\", \"subject_id\": [\"s\"]}", "/subject_id"),
                Arguments.of("{\"reason\": \"r\", \"subject_id\": \"" + "s".repeat(1025) + "\"}", "/subject_id"),
                Arguments.of("{\"reason\": \"r\", \"actor_id\": \"a\", \"subject_id\": \"s\"}", "/subject_id"),
                Arguments.of("{\"reason\": \"r\", \"until\": \"2030-01-01\"}", "/until"),
                Arguments.of("[]", ""));
    }

    @ParameterizedTest
    @MethodSource("wrongHolds")
    void aHoldThatBreaksARuleIsRefused(String body, String pointers) throws Exception {
        ExtractableResponse<Response> answer =
                wrongAdmin().body(body).post(path).then().extract();
        assertProblem(answer, 422, "invalid-body");
        assertThat(pointers(answer)).containsExactly(pointers);
        assertThat(log.text("select annals.is_held('" + project.id() + "')")).isEqualTo("f");
    }

    @Test
    void theLongestTextsAreTakenAsTheyAre() {
        String longest = "😀".repeat(1024);
        admin().body(Map.of("actor_id", longest, "reason", longest))
                .post(path)
                .then()
                .statusCode(201)
                .body("actor_id", equalTo(longest))
                .body("reason", equalTo(longest));
    }

    @Test
    void aMissingHoldIsNotFound() {
        String hold = set("");
        String other = "/v1/projects/" + log.newProject().id() + "/holds/";
        for (String wrong : List.of(
                path + "/" + UUID.randomUUID() + "/lift",
                path + "/7/lift",
                other + hold + "/lift",
                "/v1/projects/" + UUID.randomUUID() + "/holds")) {
            assertProblem(
                    wrongAdmin().body("{\"reason\": \"r\"}").post(wrong).then().extract(), 404, "not-found");
        }
    }

    @Test
    void aHoldWaitsForARedactionThatIsUnderWay() throws Exception {
        String record = append("u-1", "s-1");
        try (Connection redacting = log.connect()) {
            SqlFixture.execute(redacting, """
                    select annals.redact('%s', '%s', '{message}', 'a reason', null, sha256('seed'), gen_random_uuid(),
                      (select id from annals.access_token where project_id = '%1$s'), null)
                    """.formatted(project.id(), record));
            CompletableFuture<String> hold = CompletableFuture.supplyAsync(() -> set("\"actor_id\": \"u-1\", "));
            Await.until("the hold waits", () -> waiting("set_hold") == 1);
            // Neither stops the writers of the project.
            append("u-1", "s-1");
            assertThat(hold).isNotDone();
            redacting.commit();
            assertHeld(record, "outcome", hold.join());
        }
    }

    @Test
    void aRedactionWaitsForAHoldThatIsBeingSetAndThenSeesIt() throws Exception {
        String record = append("u-1", "s-1");
        // The first one of a project also begins its projections.
        assertRedacted(record, "outcome");
        UUID hold = UUID.randomUUID();
        try (Connection holding = log.connect()) {
            SqlFixture.execute(
                    holding, "select annals.set_hold('%s', '%s', 'u-1', null, 'r')".formatted(project.id(), hold));
            CompletableFuture<ExtractableResponse<Response>> answer =
                    CompletableFuture.supplyAsync(() -> redact(record, "message"));
            Await.until("the redaction waits", () -> waiting("annals.projection_checkpoint") == 1);
            assertThat(answer).isNotDone();
            holding.commit();
            assertProblem(answer.join(), 409, "legal-hold");
        }
    }

    private long waiting(String statement) throws Exception {
        return log.number("select count(*) from pg_stat_activity where datname = current_database()"
                + " and wait_event_type = 'Lock' and pid <> pg_backend_pid() and query like '%" + statement + "%'");
    }

    /** The administration's feed has the order of the commits: no redaction stands between a hold and its end. */
    @Test
    void noRedactionOfWhatIsHeldIsPlacedBehindTheHold() throws Exception {
        List<String> records =
                IntStream.range(0, 3 * EACH).mapToObj(i -> append("u-1", "s-1")).toList();
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            List<Future<?>> redacting = new ArrayList<>();
            for (int thread = 0; thread < 3; thread++) {
                List<String> own = records.subList(thread * EACH, (thread + 1) * EACH);
                redacting.add(threads.submit(() -> own.forEach(record -> {
                    while (redact(record, "message").statusCode() == 409) {
                        Thread.onSpinWait();
                    }
                })));
            }
            Random random = new Random();
            while (!redacting.stream().allMatch(Future::isDone)) {
                String hold = set(random.nextBoolean() ? "" : "\"actor_id\": \"u-1\", ");
                lift(hold).then().statusCode(200);
            }
            for (Future<?> done : redacting) {
                done.get();
            }
        } finally {
            threads.shutdownNow();
        }
        boolean held = false;
        int redacted = 0;
        for (String action : log.texts("""
                select action from annals.feed
                where project_id = annals.administration() and '%s' in (
                  metadata ->> 'project_id', metadata #>> '{after,project_id}')
                  and action in ('annals.hold.set', 'annals.hold.lift', 'annals.record.redact')
                order by sequence_id
                """.formatted(project.id()))) {
            if (action.equals("annals.record.redact")) {
                redacted++;
                assertThat(held).as("held while a redaction was placed").isFalse();
            } else {
                held = action.equals("annals.hold.set");
            }
        }
        assertThat(redacted).isEqualTo(3 * EACH);
    }

    @Test
    void neitherTheServiceNorAWriterChangesAHoldInAnotherWay() throws Exception {
        String hold = set("");
        for (String statement : List.of(
                "insert into annals.legal_hold (id, project_id, reason) values (gen_random_uuid(), '" + project.id()
                        + "', 'r')",
                "update annals.legal_hold set lifted_at = now(), lift_reason = 'r'",
                "delete from annals.legal_hold where id = '" + hold + "'",
                "truncate annals.legal_hold",
                "select annals.refuse_held(r) from annals.audit_record r",
                "select annals.is_held('" + project.id() + "')")) {
            for (String role : List.of("annals_service", "annals_writer")) {
                assertThatThrownBy(() -> log.run("set role " + role, statement))
                        .as("%s: %s", role, statement)
                        .hasMessageContaining("permission denied");
            }
        }
        for (String statement : List.of(
                "select * from annals.legal_hold",
                "select annals.set_hold('" + project.id() + "', gen_random_uuid(), null, null, 'r')",
                "select annals.lift_hold('" + project.id() + "', '" + hold + "', 'r')")) {
            assertThatThrownBy(() -> log.run("set role annals_writer", statement))
                    .hasMessageContaining("permission denied");
        }
    }

    @Test
    void aTransactionWithAnOldSnapshotRedactsNothing() throws Exception {
        String record = append("u-1", "s-1");
        for (String level : List.of("repeatable read", "serializable")) {
            assertThatThrownBy(() ->
                            log.run("set transaction isolation level " + level, """
                            select annals.redact('%s', '%s', '{message}', 'a reason', null, sha256('seed'), gen_random_uuid(),
                              (select id from annals.access_token where project_id = '%1$s'), null)
                            """.formatted(project.id(), record)))
                    .hasMessageContaining("may be older than a hold");
        }
    }

    @Test
    void aTokenOfTheProjectSetsAndLiftsNothing() {
        String hold = set("");
        for (String wrong : List.of(path, path + "/" + hold + "/lift")) {
            for (String token : List.of(project.token(), log.newToken("annals", "audit"))) {
                assertProblem(
                        given().header("Authorization", "Bearer " + token)
                                .contentType("application/json")
                                .body("{\"reason\": \"r\"}")
                                .post(wrong)
                                .then()
                                .extract(),
                        403,
                        "forbidden");
            }
        }
    }
}
