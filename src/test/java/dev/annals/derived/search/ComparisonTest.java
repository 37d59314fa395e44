package dev.annals.derived.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import dev.annals.core.feed.DatabaseReader;
import dev.annals.core.feed.FeedQuery.Order;
import dev.annals.core.feed.FeedReader;
import dev.annals.core.query.Filter;
import dev.annals.core.query.QueryParser;
import dev.annals.core.query.QueryParser.QueryException;
import dev.annals.derived.projection.TestProjector;
import dev.annals.kernel.database.PoolFixture;
import io.vertx.mutiny.sqlclient.Pool;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Numbers and times in the metadata are compared, and no value of a writer makes a search fail. */
@BesideTheService
class ComparisonTest {

    private static final List<String> VALUES = List.of(
            "400", // 1
            "400.5",
            "\"401\"",
            "\"1e9\"",
            "\"-5\"", // 5
            "true",
            "null",
            "\"2026-01-31\"",
            "\"2026-02-01T01:30:00+02:00\"",
            "\"2026-02-30\"", // 10
            "\"2026-02-01 00:00\"",
            "\"0000-01-01\"",
            "\"9999-12-31T23:59:59.999999999Z\"",
            "[1, 500, {\"x\": 900}]",
            "{\"v\": 600}", // 15
            "\"\"",
            "1e308",
            "-1e308",
            "\"2026-01-31T25:00:00Z\"",
            "\"2026-02-01T00:00:00.000001Z\""); // 20

    private final SqlFixture log = SqlFixture.ofTheSchemaAlone();
    private final Pool pool = new PoolFixture(log.database(), Map.of()).open(2);

    private record Limits(int scanLimit) implements SearchConfig {}

    @AfterEach
    void closeThePool() {
        pool.close().await().indefinitely();
    }

    @Test
    void numbersAndTimesAreComparedWhateverElseIsThere() throws Exception {
        UUID project = log.insertProject();
        for (String value : VALUES) {
            log.run("insert into annals.audit_record (project_id, action, metadata) values ('" + project
                    + "', 'a', '{\"v\": " + value + "}')");
        }
        log.run("insert into annals.audit_record (project_id, action) select '" + project
                + "', 'b' from generate_series(1, 2000)");
        SearchIndex index = new SearchIndex(pool, new Limits(700));
        FeedReader reader = new DatabaseReader(pool, index);
        check(reader, project);
        new TestProjector(pool, List.of(index), 10_000).catchUp();
        check(reader, project);
    }

    private static void check(FeedReader reader, UUID project) throws QueryException {
        assertFinds(reader, project, "metadata.v:>400", 2, 3, 14, 17);
        assertFinds(reader, project, "metadata.v:>=400 metadata.v:<=401", 1, 2, 3, 14);
        assertFinds(reader, project, "metadata.v:<0", 5, 18);
        assertFinds(reader, project, "metadata.v:<=-5.0", 5, 18);
        assertFinds(reader, project, "metadata.v.1:>=500", 14);
        assertFinds(reader, project, "metadata.v.v:>500", 15);
        assertFinds(reader, project, "metadata.v.2.x:>500", 14);
        assertFinds(reader, project, "metadata.v:>=2026-01-31", 8, 9, 11, 13, 20);
        assertFinds(reader, project, "metadata.v:>2026-01-31", 11, 13, 20);
        assertFinds(reader, project, "metadata.v:<=2026-01-31", 8, 9);
        assertFinds(reader, project, "metadata.v:<2026-01-31");
        assertFinds(reader, project, "metadata.v:>2026-02-01T00:00:00.000000Z", 13, 20);
        assertFinds(reader, project, "metadata.v:>9999-12-31", 13);
        assertFinds(reader, project, "metadata.v:<=9999-12-31 metadata.v:>=2026-02-01", 11, 20);
        assertFinds(reader, project, "metadata.v:(>1000 OR <-100)", 17, 18);
        assertFinds(reader, project, "metadata.w:>0");
        assertFinds(reader, project, "metadata.v:\">400\"");
    }

    @Test
    void numbersAreEqualByValueAndWhatIsMissingHasNone() throws Exception {
        UUID project = log.insertProject();
        for (String metadata : List.of(
                "{\"n\": 1500}", // 1
                "{\"n\": 1500.0}",
                "{\"n\": 15.00e2}",
                "{\"n\": \"1500\"}",
                "{\"n\": \"1500.0\"}", // 5
                "{\"n\": [7, 1500.000]}",
                "{\"n\": {\"m\": 1500}}",
                "{\"n\": 0.50}",
                "{\"n\": -0.0}",
                "{\"n\": -1500.5}", // 10
                "{\"n\": null}",
                "{\"n\": [null]}",
                "{\"n\": []}",
                "{\"n\": \"01500\"}",
                "{\"other\": \"nullable\", \"n\": \"nullify\"}", // 15
                "{\"n\": 1.5e2}",
                "{\"n\": \"1.5E3\"}")) {
            log.run("insert into annals.audit_record (project_id, action, metadata) values ('" + project + "', 'a', '"
                    + metadata + "')");
        }
        log.run("insert into annals.audit_record (project_id, action) select '" + project
                + "', 'b' from generate_series(1, 2000)");
        SearchIndex index = new SearchIndex(pool, new Limits(700));
        FeedReader reader = new DatabaseReader(pool, index);
        checkNumbers(reader, project);
        new TestProjector(pool, List.of(index), 10_000).catchUp();
        checkNumbers(reader, project);
    }

    private static void checkNumbers(FeedReader reader, UUID project) throws QueryException {
        assertFinds(reader, project, "metadata.n:1500", 1, 2, 3, 4, 6);
        assertFinds(reader, project, "metadata.n:1500.0", 1, 2, 3, 5, 6);
        assertFinds(reader, project, "metadata.n:1500.00", 1, 2, 3, 6);
        assertFinds(reader, project, "metadata.n:1.5E3", 1, 2, 3, 6, 17);
        assertFinds(reader, project, "metadata.n:1500,150", 1, 2, 3, 4, 6, 16);
        assertFinds(reader, project, "metadata.n.m:1500.0", 7);
        assertFinds(reader, project, "metadata.n.1:1.5e+3", 6);
        assertFinds(reader, project, "metadata.n:.5");
        assertFinds(reader, project, "metadata.n:5e-1", 8);
        assertFinds(reader, project, "metadata.n:0", 9);
        assertFinds(reader, project, "metadata.n:-1500.50", 10);
        assertFinds(reader, project, "metadata.n:01500", 14);
        assertFinds(reader, project, "metadata.n:1e999");
        assertFinds(reader, project, "metadata.n:-1e-999");
        assertFinds(reader, project, "metadata.n:*nul*", 15);
        assertFinds(reader, project, "metadata.none:*nul*");
        assertFinds(reader, project, "metadata.n.m:*ull*");
        assertFinds(reader, project, "metadata.n:null");
        assertFinds(reader, project, "metadata.n:(*nul* OR null) -metadata.n:nullify");
        assertFinds(
                reader, project, "action:a -metadata.n:*nul* metadata.n:*", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 16, 17);
    }

    private static void assertFinds(FeedReader reader, UUID project, String query, Integer... places)
            throws QueryException {
        Filter filter = Filter.NONE.and(QueryParser.parse(query, null));
        assertThat(FilteredPages.walk(reader, project, Order.DESCENDING, 50, filter).stream()
                        .map(Long::intValue)
                        .sorted())
                .as(query)
                .containsExactly(places);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "metadata.a:>",
                "metadata.a:>=",
                "metadata.a:>x",
                "metadata.a:>1e9",
                "metadata.a:>1*",
                "metadata.a:>NaN",
                "metadata.a:>1234567890123456789012345678901",
                "metadata.a:>2026-02-30",
                "metadata.a:<>1"
            })
    void whatIsNeitherANumberNorATimeIsRefused(String query) {
        assertThatThrownBy(() -> QueryParser.parse(query, null))
                .isInstanceOf(QueryException.class)
                .hasMessageContaining("no number and no time");
    }

    @Test
    void aComparisonIsReadAgainFromItsText() throws QueryException {
        for (String query : List.of("metadata.a:>400", "metadata.\"a b\".c:<=-1.5", "metadata.a:>2026-01-31")) {
            var read = QueryParser.parse(query, null);
            assertThat(QueryParser.parse(read.toString(), null)).isEqualTo(read);
        }
    }
}
