package dev.annals.derived.search;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.BesideTheService;
import dev.annals.Load;
import dev.annals.SqlFixture;
import dev.annals.core.feed.DatabaseReader;
import dev.annals.core.feed.FeedPage;
import dev.annals.core.feed.FeedPage.Searched;
import dev.annals.core.feed.FeedQuery.Order;
import dev.annals.core.feed.FeedReader;
import dev.annals.core.query.Filter;
import dev.annals.core.query.Query;
import dev.annals.core.query.QueryParser;
import dev.annals.core.query.QueryParser.QueryException;
import dev.annals.core.record.StoredRecord;
import dev.annals.derived.projection.TestProjector;
import dev.annals.kernel.database.PoolFixture;
import io.vertx.mutiny.sqlclient.Pool;
import java.sql.SQLException;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Pages of queries match a full scan that uses neither the database nor the index. */
@BesideTheService
class QueryPagesTest {

    private final SqlFixture log = SqlFixture.ofTheSchemaAlone();
    private final Pool pool = new PoolFixture(log.database(), Map.of()).open(8);

    private record Limits(int scanLimit) implements SearchConfig {}

    @AfterEach
    void closeThePool() {
        pool.close().await().indefinitely();
    }

    @ParameterizedTest
    @CsvSource({"1,100000", "2,100000", "3,40"})
    void pagesMatchAFullScan(long seed, int terms) throws SQLException, QueryException {
        Random random = new Random(seed);
        UUID project = log.insertProject();
        SearchIndex index = new SearchIndex(pool, new Limits(700), 45, 9, terms);
        FeedReader reader = new DatabaseReader(pool, index);
        RandomQueries.append(log, project, 2_300, random);
        new TestProjector(pool, List.of(index), 10_000).catchUp();
        RandomQueries.append(log, project, 100, random);
        List<StoredRecord> all = FilteredPages.everyRecord(reader, project);
        int telling = 0;
        int walks = Load.times(20, 400);
        for (int walk = 0; walk < walks; walk++) {
            Query part = RandomQueries.random(random, 3);
            Query query = random.nextInt(3) > 0
                    ? part
                    : Query.all(List.of(part, RandomQueries.time(random), RandomQueries.time(random)));
            String text = query.toString();
            if (text.length() > QueryParser.MAX_LENGTH) {
                continue;
            }
            assertThat(QueryParser.parse(text, null)).isEqualTo(query);
            String outcome = random.nextInt(5) == 0 ? RandomQueries.of(RandomQueries.OUTCOMES, random) : null;
            OffsetDateTime start =
                    random.nextInt(4) == 0 ? RandomQueries.FIRST_HOUR.plusHours(random.nextInt(50)) : null;
            OffsetDateTime end =
                    random.nextInt(4) == 0 ? RandomQueries.FIRST_HOUR.plusHours(random.nextInt(50, 100)) : null;
            Filter asked = new Filter(start, end, null, null, null, outcome, null, null, null);
            Filter filter = asked.and(query);
            List<Long> expected = new ArrayList<>(all.stream()
                    .filter(stored ->
                            (outcome == null || outcome.equals(stored.record().outcome()))
                                    && RandomQueries.matches(new Query.Time(false, start, end), stored)
                                    && RandomQueries.matches(query, stored))
                    .map(StoredRecord::sequenceId)
                    .toList());
            Order order = random.nextBoolean() ? Order.ASCENDING : Order.DESCENDING;
            if (order == Order.DESCENDING) {
                Collections.reverse(expected);
            }
            assertThat(FilteredPages.walk(reader, project, order, RandomQueries.of(List.of(40, 200), random), filter))
                    .as(order + " " + asked + " " + text)
                    .isEqualTo(expected);
            telling += expected.isEmpty() || expected.size() == all.size() ? 0 : 1;
        }
        assertThat(telling)
                .as("queries that some records pass, and some do not")
                .isGreaterThan(walks / 2);
    }

    /** Splitting such a message into words takes a millisecond or more. */
    @Test
    void manyPhrasesInLongMessagesAreAnswered() throws SQLException, QueryException {
        UUID project = log.insertProject();
        log.insertAsWriter(project, "'hay', repeat('x ', 8000)", 1_000);
        StringBuilder text = new StringBuilder("\"x y0\"");
        for (int i = 1; i < 75; i++) {
            text.append(" OR \"x y").append(i).append('"');
        }
        FeedReader reader = new DatabaseReader(pool, new SearchIndex(pool, new Limits(1_200)));
        FeedPage page = FilteredPages.read(
                reader, project, Order.ASCENDING, null, null, 10, Filter.NONE.and(parse(text.toString())));
        assertThat(page.records()).isEmpty();
        assertThat(page.pollMore().sequenceId()).isEqualTo(1_000);
    }

    /** Each would keep normalize() busy for seconds. */
    @Test
    void recordsOfManyCombiningCharactersAreIndexedAndSearched() throws SQLException, QueryException {
        UUID project = log.insertProject();
        String marks = "'a' || repeat(U&'\\0301', 16000) || repeat(U&'\\0327', 16000) || n";
        String shorter = "'b' || repeat(U&'\\0301', 100) || repeat(U&'\\0327', 100) || n";
        log.run("insert into annals.audit_record (project_id, action, message, metadata) select '"
                + project + "', 'hay', " + marks + ", jsonb_build_object(" + shorter + ", " + shorter
                + ") from generate_series(1, 1024) as n");
        SearchIndex index = new SearchIndex(pool, new Limits(100));
        FeedReader reader = new DatabaseReader(pool, index);
        new TestProjector(pool, List.of(index), 10_000).catchUp();
        FeedPage page =
                FilteredPages.read(reader, project, Order.DESCENDING, null, null, 50, Filter.NONE.and(parse("-zzz")));
        // Their bytes fill the page before their number does.
        assertThat(page.records()).hasSizeBetween(10, 50);
        assertThat(log.number("select count(*) from annals.term where field = 14"))
                .as("names of metadata in the dictionary")
                .isEqualTo(1_024);
    }

    @Test
    void theIndexIsUsedForWordsAndWholeValues() throws SQLException, QueryException {
        UUID project = log.insertProject();
        log.insertAsWriter(project, "'hay', 'Much of it'", 3_000);
        log.insertAsWriter(project, "'Needle', 'The needle, in a haystack!'", 1);
        log.insertAsWriter(project, "'hay', 'Much of it'", 3_000);
        SearchIndex index = new SearchIndex(pool, new Limits(1_200));
        FeedReader reader = new DatabaseReader(pool, index);
        new TestProjector(pool, List.of(index), 10_000).catchUp();
        String longList = "action:(needle" + ", none".repeat(17).replace("none", "none%d") + ")";
        for (String text : List.of(
                "needle",
                "action:NEEDLE",
                "\"the NEEDLE in\"",
                "message:needle -action:absent",
                "action:needle action:n*",
                "(action:needle OR actor:absent OR haystack)",
                "action:need*",
                "nee*",
                "message:ne*",
                "*eedl*",
                "action:*eedl*",
                "(*aysta* OR zzz*) -outcome:success",
                "(action:needle OR absent) (outcome:absent OR message:haystack)",
                "-outcome:success action:needle,absent last:24h",
                longList.formatted(nth(17, 1)) + " needle")) {
            for (Order order : Order.values()) {
                FeedPage page =
                        FilteredPages.read(reader, project, order, null, null, 10, Filter.NONE.and(parse(text)));
                assertThat(FilteredPages.ids(page)).as(text).containsExactly(3_001L);
                assertThat(page.next()).as(text).isNull();
            }
        }
        for (String text : List.of("n*", "-action:hay", longList.formatted(nth(17, 1)))) {
            Filter filter = Filter.NONE.and(parse(text));
            FeedPage page = FilteredPages.read(reader, project, Order.ASCENDING, null, null, 10, filter);
            assertThat(page.records()).as(text).isEmpty();
            assertThat(page.next()).as(text).isNotNull();
            assertThat(FilteredPages.walk(reader, project, Order.ASCENDING, 10, filter))
                    .containsExactly(3_001L);
        }
    }

    /** Each pattern has terms of its own; together they stay below the limits of a statement's time. */
    @Test
    void manyPatternsAtOnceAreAnswered() throws SQLException, QueryException {
        UUID project = log.insertProject();
        log.insertAsWriter(project, "'hay', 'w' || chr(97 + n % 26) || chr(97 + n / 26 % 26) || 'tail'", 3_000);
        SearchIndex index = new SearchIndex(pool, new Limits(1_200));
        FeedReader reader = new DatabaseReader(pool, index);
        new TestProjector(pool, List.of(index), 10_000).catchUp();
        for (String pattern :
                List.of("w%s*", "*w%s*", "message:*%stai*", "action:*%shay*", "metadata.\"a%%_\\\\\".x:%s*")) {
            for (String between : List.of(" ", " OR ")) {
                StringBuilder text = new StringBuilder();
                for (int i = 0; i < 30; i++) {
                    text.append(i == 0 ? "" : between).append(pattern.formatted("a" + (char) ('a' + i % 26)));
                }
                Query query = parse(text.toString());
                List<Long> found = FilteredPages.walk(reader, project, Order.DESCENDING, 200, Filter.NONE.and(query));
                Collections.reverse(found);
                assertThat(found)
                        .as(text.toString())
                        .isEqualTo(FilteredPages.everyRecord(reader, project).stream()
                                .filter(stored -> RandomQueries.matches(query, stored))
                                .map(StoredRecord::sequenceId)
                                .toList());
            }
        }
    }

    @Test
    void aPageTellsWhatItSearchedAndHowFarTheIndexIs() throws SQLException, QueryException {
        UUID project = log.insertProject();
        log.insertAsWriter(project, "'hay', 'Much of it'", 3_000);
        SearchIndex index = new SearchIndex(pool, new Limits(600));
        FeedReader reader = new DatabaseReader(pool, index);
        new TestProjector(pool, List.of(index), 10_000).catchUp();
        Filter filter = Filter.NONE.and(parse("ha* -action:hay"));
        FeedPage newest = FilteredPages.read(reader, project, Order.DESCENDING, null, null, 10, filter);
        assertThat(newest.searched()).isEqualTo(new Searched(2_399, 3_000, 2_048));
        assertThat(FilteredPages.read(reader, project, Order.ASCENDING, null, null, 10, filter)
                        .searched())
                .isEqualTo(new Searched(0, 600, 2_048));
        assertThat(FilteredPages.walk(reader, project, Order.DESCENDING, 10, filter))
                .isEmpty();
        assertThat(FilteredPages.read(reader, project, Order.ASCENDING, null, null, 10, Filter.NONE)
                        .searched())
                .as("a page without filters")
                .isNull();
        assertThat(FilteredPages.read(reader, project, Order.DESCENDING, null, null, 10, Filter.NONE)
                        .searched())
                .isNull();
    }

    private static Object[] nth(int count, int from) {
        return Stream.iterate(from, n -> n + 1).limit(count).toArray();
    }

    private static Query parse(String text) throws QueryException {
        return QueryParser.parse(text, OffsetDateTime.now(ZoneOffset.UTC));
    }
}
