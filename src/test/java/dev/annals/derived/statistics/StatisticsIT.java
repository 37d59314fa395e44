package dev.annals.derived.statistics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.NothingByItself;
import dev.annals.OneByOne;
import dev.annals.ProjectTest;
import dev.annals.derived.projection.TestProjector;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import io.restassured.response.ExtractableResponse;
import io.restassured.response.Response;
import io.vertx.mutiny.sqlclient.Pool;
import jakarta.inject.Inject;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@QuarkusTest
@OneByOne
@TestProfile(NothingByItself.class)
class StatisticsIT extends ProjectTest {

    private static final String STATISTICS = "/v1/project-logs/statistics";

    @Inject
    DailyCounts counts;

    @Inject
    Pool pool;

    @Test
    void countsAreByDayByDefault() {
        append("{'action': 'a', 'timestamp': '2026-01-31T23:59:59.999999Z'}");
        append("{'action': 'b', 'timestamp': '2026-02-01T01:00:00+02:00'}");
        append("{'action': 'a', 'timestamp': '2026-02-01T00:00:00Z'}");
        project(counts);
        ExtractableResponse<Response> answer = get("");
        assertThat(answer.<List<String>>path("by")).containsExactly("day");
        assertThat(answer.<Integer>path("through")).isEqualTo(3);
        assertThat(answer.<List<Map<String, Object>>>path("results"))
                .containsExactly(Map.of("day", "2026-01-31", "count", 2), Map.of("day", "2026-02-01", "count", 1));
        assertThat(get("?start=2026-02-01").<List<Object>>path("results")).hasSize(1);
        assertThat(get("?start=2026-01-31T00:00:00Z&end=2026-02-01T00:00:00Z").<Integer>path("results[0].count"))
                .isEqualTo(2);
        assertThat(get("?end=2026-01-31").<List<Object>>path("results")).isEmpty();
    }

    @Test
    void countsAreGroupedAndSortedByTheRequestedDimensions() {
        append("{'action': 'b', 'actor': {'id': 'u1', 'name': 'Ann'}, 'outcome': 'success'}");
        append("{'action': 'b', 'actor': {'name': 'Bob'}}");
        append("{'action': 'a', 'actor': {'type': 'user', 'id': 'u1'}, 'outcome': 'failure'}");
        append("{'action': 'a'}");
        project(counts);
        assertThat(rows("actor")).containsExactly("Bob=1", "u1=2", "null=1");
        assertThat(rows("action")).containsExactly("a=2", "b=2");
        assertThat(rows("outcome,action")).containsExactly("a failure=1", "a null=1", "b success=1", "b null=1");
        assertThat(get("?by=action").<Integer>path("others")).isZero();
    }

    @Test
    void recordsThatAreNotProjectedAreNotCountedAndThroughTells() {
        append("{'action': 'a'}");
        assertThat(get("").<Integer>path("through")).isZero();
        assertThat(get("?by=actor").<List<Object>>path("results")).isEmpty();
        project(counts);
        append("{'action': 'a'}");
        assertThat(get("").<Integer>path("through")).isEqualTo(1);
        assertThat(get("?by=action").<Integer>path("results[0].count")).isEqualTo(1);
    }

    /** A writer that invents an actor for each record does not get a row for each. */
    @ParameterizedTest
    @ValueSource(ints = {1, 7, 1000})
    void aDayWithTooManyCombinationsCountsTheFurtherOnesTogetherWhateverTheSteps(int records) throws SQLException {
        try (Connection connection = log.connectAsWriter();
                PreparedStatement insert = connection.prepareStatement("""
                        insert into annals.audit_record (project_id, action, actor_id, "timestamp")
                        select ?, 'a', repeat('ö', 1000) || n % 30, '2026-01-01' from generate_series(0, 59) n
                        """)) {
            insert.setObject(1, project.id());
            insert.executeUpdate();
            connection.commit();
        }
        project(new DailyCounts(new Limits(20), records));
        ExtractableResponse<Response> answer = get("?by=actor");
        assertThat(answer.<List<Object>>path("results")).hasSize(21);
        assertThat(answer.<List<Integer>>path("results.count"))
                .containsOnly(2, 20)
                .containsOnlyOnce(20);
        assertThat(answer.<Integer>path("results[20].count")).isEqualTo(20);
        assertThat(answer.<Integer>path("others")).isEqualTo(20);
        assertThat(answer.<List<String>>path("results.actor")).doesNotContain("ö".repeat(1000) + 20);
        assertThat(get("").<Integer>path("results[0].count")).isEqualTo(60);
        assertThat(rows("action,outcome")).containsExactly("a null=60");
        assertThat(get("?by=action,outcome").<Integer>path("others")).isZero();
    }

    /** Actions have a limit of their own. */
    @ParameterizedTest
    @ValueSource(ints = {1, 7, 1000})
    void aDayWithTooManyActionsCountsTheFurtherOnesTogether(int records) throws SQLException {
        try (Connection connection = log.connectAsWriter();
                PreparedStatement insert = connection.prepareStatement("""
                        insert into annals.audit_record (project_id, action, outcome, actor_id, "timestamp")
                        select ?, 'a' || n % 12, nullif('o' || n % 2, 'o1'), n, '2026-01-01' from generate_series(0, 59) n
                        """)) {
            insert.setObject(1, project.id());
            insert.executeUpdate();
            connection.commit();
        }
        project(new DailyCounts(new Limits(10), records));
        ExtractableResponse<Response> answer = get("?by=day,action,outcome");
        assertThat(answer.<List<Object>>path("results")).hasSize(11);
        assertThat(answer.<Integer>path("others")).isEqualTo(10);
        assertThat(answer.<List<Integer>>path("results.count")).containsOnly(5, 10);
        assertThat(answer.<List<String>>path("results.action")).doesNotContain("a10", "a11");
        assertThat(get("?by=actor").<Integer>path("others")).isEqualTo(50);
        assertThat(get("?by=outcome").<List<Integer>>path("results.count").stream()
                        .mapToInt(Integer::intValue)
                        .sum())
                .isEqualTo(60);
    }

    @Test
    void anAnswerThatWouldBeTooLargeIsAProblem() throws SQLException {
        try (Connection connection = log.connectAsWriter();
                PreparedStatement insert = connection.prepareStatement("""
                        insert into annals.audit_record (project_id, action, "timestamp")
                        select ?, 'a', timestamptz '1900-01-01' + make_interval(days => n) from generate_series(1, 10001) n
                        """)) {
            insert.setObject(1, project.id());
            insert.executeUpdate();
            connection.commit();
        }
        project(counts);
        assertTooLarge("");
        assertTooLarge("?by=day,outcome");
        assertThat(get("?by=action").<List<Object>>path("results")).isNotEmpty();
        assertThat(get("?end=1901-01-01").<List<Object>>path("results")).hasSize(364);
    }

    @Test
    void anAnswerWithTooMuchTextIsAProblem() throws SQLException {
        try (Connection connection = log.connectAsWriter();
                PreparedStatement insert = connection.prepareStatement("""
                        insert into annals.audit_record (project_id, action, actor_id, "timestamp")
                        select ?, 'a', repeat('ö', 1000) || n, '2026-01-01' from generate_series(1, 1100) n
                        """)) {
            insert.setObject(1, project.id());
            insert.executeUpdate();
            connection.commit();
        }
        project(counts);
        assertTooLarge("?by=actor");
        assertThat(get("?by=action").<Integer>path("results[0].count")).isEqualTo(1100);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "start=2026-1-1 | start",
                "start=2026-02-30 | start",
                "start=2026-01-01T00:00:01Z | start",
                "end=2026-01-01T00:00:00%2B01:00 | end",
                "end=0000-01-01 | end",
                "start=2026-01-02&end=2026-01-01 | end",
                "by= | by",
                "by=day,day | by",
                "by=colour | by",
                "by=DAY | by",
                "limit=3 | limit",
                "by=day&by=actor | by",
            })
    void aParameterThatCannotBeUsedIsAProblem(String query, String parameter) {
        ExtractableResponse<Response> answer = project.wrongRequest()
                .get(STATISTICS + "?" + query)
                .then()
                .statusCode(400)
                .extract();
        assertThat(answer.<String>path("parameter")).isEqualTo(parameter);
    }

    private void assertTooLarge(String query) {
        String type = project.request()
                .get(STATISTICS + query)
                .then()
                .statusCode(422)
                .extract()
                .path("type");
        assertThat(type).isEqualTo("urn:annals:problem:result-too-large");
    }

    private List<String> rows(String by) {
        List<Map<String, Object>> results = get("?by=" + by).path("results");
        return results.stream()
                .map(row -> List.of("action", "actor", "outcome").stream()
                                .filter(List.of(by.split(","))::contains)
                                .map(name -> String.valueOf(row.get(name)))
                                .reduce((left, right) -> left + " " + right)
                                .orElseThrow()
                        + "=" + row.get("count"))
                .toList();
    }

    private ExtractableResponse<Response> get(String query) {
        return project.request().get(STATISTICS + query).then().statusCode(200).extract();
    }

    private void append(String record) {
        project.request()
                .contentType("application/json")
                .body(record.replace('\'', '"'))
                .post("/v1/project-logs")
                .then()
                .statusCode(201);
    }

    private void project(DailyCounts projection) {
        new TestProjector(pool, List.of(projection), 1000).catchUp();
    }

    private record Limits(int combinations) implements StatisticsConfig {}
}
