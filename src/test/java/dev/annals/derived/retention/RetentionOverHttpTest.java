package dev.annals.derived.retention;

import static dev.annals.ProblemAssertions.assertProblem;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.nullValue;
import static org.hamcrest.Matchers.oneOf;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.derived.log.LogReader;
import dev.annals.kernel.database.Databases;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.ProvedRecord;
import dev.annals.tools.embedded.TestDatabase;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.RestAssured;
import io.restassured.response.Response;
import jakarta.inject.Inject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Readers of a feed with expired records see all remaining ones, and are told that they missed some. */
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
class RetentionOverHttpTest {

    private static final String LOGS = AuditLogFixture.LOGS;

    @Inject
    Retentions retentions;

    @Inject
    Databases databases;

    private final AuditLogFixture log = new AuditLogFixture();
    private Project project;

    @BeforeEach
    void makeAProject() {
        project = log.newProject("read", "write", "sequence");
    }

    private void append(int count, int daysAgo) throws Exception {
        log.run(
                "insert into annals.audit_record (project_id, action, actor_id, message, recorded_at, recorded_by_role) select '"
                        + project.id() + "', 'act', 'u' || n % 7, 'Volume ' || n, clock_timestamp() - interval '"
                        + daysAgo
                        + " days', 'somebody' from generate_series(1, " + count + ") as n");
    }

    private Response change(String body) {
        return RestAssured.given()
                .header("Authorization", "Bearer " + AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json")
                .body(body)
                .patch("/v1/projects/" + project.id());
    }

    private void expire(long expected) throws Exception {
        Await.until(
                "the log and the counts have all records",
                () -> log.number("select count(*) from annals.projection_checkpoint as c join annals.feed_segment as s"
                                + " using (project_id) where c.project_id = '" + project.id()
                                + "' and projection in ('log', 'statistics') and c.sequence_id = (select"
                                + " max(last_sequence_id) from annals.feed_segment where project_id = '" + project.id()
                                + "')")
                        > 0);
        change("{\"retention_days\": 30}").then().statusCode(200).body("retention_days", equalTo(30));
        Await.until("they are removed", () -> {
            retentions.of(databases.home()).look().await().atMost(Duration.ofSeconds(60));
            return log.number("select annals.horizon('" + project.id() + "')") == expected;
        });
    }

    private Response get(String path) {
        return project.request().get(path).then().statusCode(200).extract().response();
    }

    private List<Integer> ids(String first) {
        List<Integer> ids = new ArrayList<>();
        String next = first;
        while (next != null) {
            Response page = get(next);
            ids.addAll(page.path("results.sequence_id"));
            next = page.path("next");
        }
        return ids;
    }

    private static List<Integer> range(int first, int last) {
        List<Integer> range = new ArrayList<>();
        for (int id = first; id <= last; id++) {
            range.add(id);
        }
        return range;
    }

    private static List<Integer> reversed(List<Integer> ids) {
        List<Integer> reversed = new ArrayList<>(ids);
        java.util.Collections.reverse(reversed);
        return reversed;
    }

    private void assertExpired(String path, int oldest) {
        Response answer = project.request().get(path);
        assertProblem(answer.then().extract(), 410, "records-expired");
        assertThat(answer.<Integer>path("oldest_sequence_id")).as(path).isEqualTo(oldest);
        List<Integer> left = ids(answer.path("oldest"));
        if (!left.isEmpty()) {
            assertThat(left.get(0)).isGreaterThanOrEqualTo(oldest);
        }
    }

    @Test
    void aReaderWhoseNextRecordsHaveExpiredIsTold() throws Exception {
        append(700, 40);
        append(300, 1);
        String all = get(LOGS + "?limit=1000").path("poll_more");
        String early = get(LOGS + "?limit=100").path("next");
        String horizon = get(LOGS + "?limit=700").path("next");
        String downwards = get(LOGS + "?order=desc&limit=950").path("next");
        String toTheHorizon = get(LOGS + "?order=desc&limit=300").path("next");
        expire(700);

        for (String path : List.of(
                early,
                downwards,
                LOGS + "?cursor=0",
                LOGS + "?cursor=699",
                LOGS + "?cursor=1&action=act",
                LOGS + "?cursor=0&action=act",
                LOGS + "?cursor=699&actor=u3",
                LOGS + "?cursor=600&order=desc&action=act",
                LOGS + "?cursor=600&wait=5",
                LOGS + "/stream?cursor=600",
                LOGS + "/export?format=ndjson&cursor=600")) {
            assertExpired(path, 701);
        }
        // A reader up to the horizon has missed nothing.
        assertThat(ids(horizon)).isEqualTo(range(701, 1000));
        assertThat(ids(all)).isEmpty();
        assertThat(ids(toTheHorizon)).isEmpty();
        assertProblem(
                project.request().get(LOGS + "?cursor=700-00000000").then().extract(), 409, "feed-rewound");
        assertThat(get("/v1/whoami").<Integer>path("project.oldest_sequence_id"))
                .isEqualTo(701);
    }

    @Test
    void withoutACursorReadersBeginWithTheOldestRemainingRecord() throws Exception {
        append(1300, 40);
        append(1200, 1);
        expire(1300);
        List<Integer> left = range(1301, 2500);
        assertThat(ids(LOGS)).isEqualTo(left);
        assertThat(ids(LOGS)).isEqualTo(left);
        assertThat(ids(LOGS + "?limit=70&wait=1")).isEqualTo(left);
        assertThat(ids(LOGS + "?action=act&limit=170")).isEqualTo(left);
        assertThat(ids(LOGS + "?order=desc&limit=300")).isEqualTo(reversed(left));
        assertThat(ids(LOGS + "?order=desc&limit=1000")).isEqualTo(reversed(left));
        assertThat(ids(LOGS + "?order=desc&action=act&limit=100")).isEqualTo(reversed(left));
        assertThat(ids(LOGS + "?order=desc&action=none")).isEmpty();
        assertThat(ids(LOGS + "?action=none")).isEmpty();
        assertThat(ids(LOGS + "?actor=u3"))
                .isEqualTo(left.stream().filter(id -> (id - 1300) % 7 == 3).toList());
        assertThat(get(LOGS + "/export?format=ndjson").asString().split("\n")).hasSize(1200);
        assertThat(get(LOGS + "/statistics?by=day").<List<Integer>>path("results.count").stream()
                        .mapToInt(Integer::intValue)
                        .sum())
                .isEqualTo(1200);
        assertThat(get(LOGS + "/facets").<Integer>path("total")).isEqualTo(1200);
        assertThat(get(LOGS + "/facets?action=act").<Boolean>path("complete")).isTrue();
    }

    @Test
    void aFeedWithoutRemainingRecordsContinues() throws Exception {
        append(1, 40);
        String read = get(LOGS).path("poll_more");
        expire(1);
        assertThat(ids(LOGS)).isEmpty();
        assertThat(ids(LOGS + "?order=desc")).isEmpty();
        assertThat(ids(LOGS + "?action=act")).isEmpty();
        assertThat(ids(LOGS + "?order=desc&action=act")).isEmpty();
        assertExpired(LOGS + "?cursor=0", 2);
        String pollMore = get(LOGS).path("poll_more");
        project.request()
                .contentType("application/json")
                .body("{\"action\": \"next\"}")
                .post(LOGS)
                .then()
                .statusCode(201)
                .body("sequence_id", equalTo(2));
        for (String cursor : List.of(read, pollMore, LOGS, LOGS + "?cursor=1", LOGS + "?action=next")) {
            assertThat(ids(cursor)).as(cursor).containsExactly(2);
        }
    }

    /** The last record that expired, too, whose place remains. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                LOGS + " application/json %s",
                AuditLogFixture.BATCH + " application/json {\"records\": [%s]}",
                AuditLogFixture.BATCH + " application/json {\"records\": [{\"action\": \"first\"}, %s]}",
                AuditLogFixture.IMPORT + " application/x-ndjson %s"
            })
    void aRecordThatIsSentAgainAfterItExpiredIsANewOne(String how) throws Exception {
        append(2, 40);
        append(1, 40);
        append(1, 1);
        String horizon = get(LOGS + "?limit=3").path("next");
        String filtered = get(LOGS + "?limit=3&action=act").path("next");
        UUID id = log.feed(project.id()).get(2);
        expire(3);
        String[] parts =
                how.formatted("{\"id\": \"" + id + "\", \"action\": \"again\"}").split(" ", 3);
        for (int attempt = 0; attempt < 2; attempt++) {
            project.request()
                    .contentType(parts[1])
                    .body(parts[2].getBytes(UTF_8))
                    .post(parts[0])
                    .then()
                    .statusCode(oneOf(200, 201));
        }
        for (String page : List.of(
                LOGS, horizon, LOGS + "?order=desc", LOGS + "?action=again", filtered.replace("=act", "=again"))) {
            assertThat(get(page).<List<String>>path("results.id")).as(page).containsOnlyOnce(id.toString());
        }
        assertThat(ids(filtered)).containsExactly(4);
        assertThat(log.number("select count(*) from annals.feed where project_id = '" + project.id() + "' and id = '"
                        + id + "'"))
                .isEqualTo(1);
        assertThat(get(LOGS + "/" + id).<Integer>path("sequence_id")).isGreaterThan(4);
    }

    @Test
    void pagesInMemoryDoNotShowExpiredRecords() throws Exception {
        append(20, 40);
        append(20, 1);
        for (int i = 0; i < 3; i++) {
            get(LOGS);
        }
        String early = get(LOGS + "?limit=5").path("next");
        get(early);
        expire(20);
        assertThat(ids(LOGS)).isEqualTo(range(21, 40));
        assertExpired(early, 21);
    }

    @Test
    void proofsOfRemainingRecordsStayValid() throws Exception {
        append(600, 40);
        append(400, 1);
        LogReader reader = new LogReader(project);
        Await.until("all records are in the log", () -> reader.next().size() == 1000);
        Checkpoint before = reader.next();
        UUID kept = log.feed(project.id()).get(650);
        UUID gone = log.feed(project.id()).get(10);
        ProvedRecord proved = reader.prove(kept.toString());
        String bundle = reader.prefixed("tile/entries/000");
        String tile = reader.prefixed("tile/0/001");
        byte[] entries = get(bundle).asByteArray();
        byte[] hashes = get(tile).asByteArray();
        expire(600);

        assertThat(reader.prove(kept.toString()).entry()).isEqualTo(proved.entry());
        assertThat(reader.walkLeft(before, 100, 600)).hasSize(400);
        assertThat(get(bundle).asByteArray()).isEqualTo(entries);
        assertThat(get(tile).asByteArray()).isEqualTo(hashes);
        assertProblem(project.request().get(LOGS + "/" + gone + "/proof").then().extract(), 404, "not-found");
        assertProblem(project.request().get(LOGS + "/" + gone).then().extract(), 404, "not-found");
        append(100, 0);
        Await.until("the new ones, too", () -> reader.next().size() == 1100);
        assertThat(reader.walkLeft(reader.next(), 256, 600)).hasSize(500);
        assertThat(reader.prove(kept.toString()).entry()).isEqualTo(proved.entry());
        project.request()
                .get(LOGS + "/log/consistency?from=1000&to=1100")
                .then()
                .statusCode(200);
    }

    @Test
    void onlyAdministratorsSetARetentionAndEachChangeIsAnEvent() throws Exception {
        change("{\"retention_days\": 365}")
                .then()
                .statusCode(200)
                .body("retention_days", equalTo(365))
                .body("oldest_sequence_id", equalTo(1));
        assertProblem(change("{\"name\": \"annals\"}").then().extract(), 409, "project-name-taken");
        change("{\"retention_days\": null, \"name\": \"renamed " + project.id() + "\"}")
                .then()
                .statusCode(200)
                .body("retention_days", nullValue())
                .body("name", equalTo("renamed " + project.id()));
        for (String body : List.of(
                "{}",
                "{\"retention_days\": 0}",
                "{\"retention_days\": 36501}",
                "{\"retention_days\": -1}",
                "{\"retention_days\": 1.5}",
                "{\"retention_days\": \"30\"}",
                "{\"retention_days\": 99999999999}",
                "{\"retention_days\": 1, \"name\": null}",
                "{\"retention_days\": 1, \"more\": 1}")) {
            assertProblem(change(body).then().extract(), 422, "invalid-body");
        }
        // One part fails, so the other does not happen.
        assertThat(change("{\"retention_days\": 7, \"name\": \"annals \"}").statusCode())
                .isEqualTo(409);
        assertThat(log.texts(
                        "select action || ' ' || coalesce(metadata #>> '{after,retention_days}', '-') from annals.feed"
                                + " where project_id = annals.administration() and subject_id = '" + project.id()
                                + "' order by sequence_id"))
                .containsExactly(
                        "annals.project.create -",
                        "annals.project.retain 365",
                        "annals.project.rename 365",
                        "annals.project.retain -");
        Map<String, Object> refused = RestAssured.given()
                .header("Authorization", "Bearer " + AuditLogFixture.ADMIN_TOKEN)
                .contentType("application/json")
                .body("{\"retention_days\": 1}")
                .patch("/v1/projects/annals")
                .then()
                .statusCode(403)
                .extract()
                .path("");
        assertThat(refused).containsEntry("type", "urn:annals:problem:forbidden");
    }
}
