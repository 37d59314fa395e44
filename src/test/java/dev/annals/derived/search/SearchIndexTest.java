package dev.annals.derived.search;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import dev.annals.core.feed.Cursor;
import dev.annals.core.feed.DatabaseReader;
import dev.annals.core.feed.FeedIndex.ScanPlan;
import dev.annals.core.feed.FeedPage;
import dev.annals.core.feed.FeedQuery.Order;
import dev.annals.core.feed.FeedReader;
import dev.annals.core.query.Filter;
import dev.annals.core.query.Filter.Condition;
import dev.annals.core.query.QueryParser;
import dev.annals.core.query.QueryParser.QueryException;
import dev.annals.core.record.AuditRecord.Party;
import dev.annals.core.record.StoredRecord;
import dev.annals.derived.projection.RandomRecords;
import dev.annals.derived.projection.TestProjector;
import dev.annals.kernel.database.PoolFixture;
import dev.annals.kernel.database.Sql;
import io.vertx.mutiny.sqlclient.Pool;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Pages with filters match a full scan, however far the index is behind. */
@BesideTheService
class SearchIndexTest {

    private static final OffsetDateTime FIRST_HOUR = OffsetDateTime.parse("2026-01-01T00:00:00Z");
    /** The settings of the service's connections. */
    private static final String SERVICE_SETTINGS =
            "set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off; set jit = off;";

    private static @Nullable Large large;

    private final SqlFixture log = SqlFixture.ofTheSchemaAlone();
    private final Pool pool = pool(log);

    /** A feed of 200,000 records in a database of its own. */
    private record Large(SqlFixture log, UUID project) {}

    private record Limits(int scanLimit) implements SearchConfig {}

    private static Pool pool(SqlFixture log) {
        return new PoolFixture(log.database(), Map.of()).open(8);
    }

    @AfterEach
    void closeThePool() {
        pool.close().await().indefinitely();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2})
    void pagesMatchAFullScanWhileRecordsAreAppendedAndTheIndexLags(long seed) throws SQLException {
        Random random = new Random(seed);
        UUID project = log.insertProject();
        // some messages are too long, or have too many words, to be indexed
        SearchIndex index = new SearchIndex(pool, new Limits(150), 45, 9, 100_000);
        FeedReader reader = new DatabaseReader(pool, index);
        TestProjector projector = new TestProjector(pool, List.of(index), 10_000);
        append(project, 2_500, random);
        int passed = 0;
        int heldBack = 0;
        for (int walk = 0; walk < 8; walk++) {
            Filter filter = randomFilter(random);
            Order order = random.nextBoolean() ? Order.ASCENDING : Order.DESCENDING;
            int limit = List.of(2, 20, 200).get(random.nextInt(3));
            List<Long> found = new ArrayList<>();
            // so that a walk by small pages ends
            AtomicInteger appends = new AtomicInteger(30);
            long through = walk(reader, project, order, limit, filter, found, page -> {
                if (random.nextInt(8) == 0 && appends.getAndDecrement() > 0) {
                    append(project, random.nextInt(1, 150), random);
                }
                if (random.nextInt(10) == 0) {
                    projector.scan();
                }
                if (random.nextInt(100) == 0) {
                    startTheIndexAnew();
                }
            });
            List<Long> expected = new ArrayList<>(FilteredPages.everyRecord(reader, project).stream()
                    .filter(record -> record.sequenceId() <= through && passes(filter, record))
                    .map(StoredRecord::sequenceId)
                    .toList());
            if (order == Order.DESCENDING) {
                Collections.reverse(expected);
            }
            assertThat(found).as(order + " " + limit + " " + filter).isEqualTo(expected);
            passed += expected.size();
            heldBack += (int) through - expected.size();
        }
        assertThat(passed).as("records that passed").isGreaterThan(20);
        assertThat(heldBack).as("records that a filter held back").isGreaterThan(100);
        log.checkFeed(project);
    }

    @Test
    void theIndexIsUsedAndExcludesTheRest() throws SQLException {
        UUID project = log.insertProject();
        append(project, 3_000, new Random(1));
        log.insertAsWriter(project, "'needle', 'The Needle, in a haystack!'", 1);
        append(project, 3_000, new Random(2));
        SearchIndex index = new SearchIndex(pool, new Limits(1200));
        FeedReader reader = new DatabaseReader(pool, index);
        new TestProjector(pool, List.of(index), 10_000).catchUp();
        for (Filter filter : List.of(
                new Filter(null, null, "needle", null, null, null, null, null, null),
                new Filter(null, null, null, null, null, null, null, "NEEDLE haystack", null))) {
            for (Order order : Order.values()) {
                FeedPage page = FilteredPages.read(reader, project, order, null, null, 10, filter);
                assertThat(page.records())
                        .singleElement()
                        .satisfies(record -> assertThat(record.sequenceId()).isEqualTo(3_001));
                assertThat(page.next()).isNull();
            }
        }
    }

    /** A page that read all sixteen records of a slice would reach its limit before the second match. */
    @Test
    void aValueOfOneRecordInABlockCostsOneRead() throws SQLException {
        UUID project = log.insertProject();
        for (int i = 0; i < 6; i++) {
            log.insertAsWriter(project, "'common', 'Again and again'", 1_023);
            log.insertAsWriter(project, "'rare', 'Now, for once'", 1);
        }
        SearchIndex index = new SearchIndex(pool, new Limits(20));
        FeedReader reader = new DatabaseReader(pool, index);
        new TestProjector(pool, List.of(index), 10_000).catchUp();
        for (Filter filter : List.of(
                new Filter(null, null, "rare", null, null, null, null, null, null),
                new Filter(null, null, null, null, null, null, null, "once NOW", null))) {
            for (Order order : Order.values()) {
                FeedPage page = FilteredPages.read(reader, project, order, null, null, 10, filter);
                assertThat(FilteredPages.ids(page)).as(order + " " + filter).hasSize(6);
                assertThat(page.next()).isNull();
            }
        }
    }

    /** A count is divided by the places of its plans: a place that it does not read would displace another. */
    @Test
    void aPlanForACountHasAsManyPlacesAsItMayHave() throws SQLException {
        UUID project = log.insertProject();
        log.insertAsWriter(project, "'a', null", 300);
        SearchIndex index = new SearchIndex(pool, new Limits(1200));
        ScanPlan plan = index.planBack(project, 301, Filter.NONE, 250).await().indefinitely();
        assertThat(plan.places()).isEqualTo(250);
        assertThat(plan.first()).containsExactly(51L);
        assertThat(plan.last()).containsExactly(300L);
        assertThat(plan.takeBack(100).places()).isEqualTo(100);
    }

    /** Each stretch of 1,048,576 places has keys of its own in the index. */
    @Test
    void aSearchContinuesAcrossStretchesOfTheIndex() throws SQLException {
        UUID project = log.insertProject();
        long begin = 1_021 * 1_024L;
        // A feed that begins with places without records: faster to make than a million records.
        log.run("insert into annals.feed_segment (project_id, append_id, first_sequence_id, last_sequence_id) values ('"
                + project + "', gen_random_uuid(), 1, " + begin + ")");
        log.run(
                "insert into annals.projection_checkpoint (project_id, projection, sequence_id, generation, mark) select '"
                        + project + "', name, " + begin
                        + ", generation, annals.search_mark() from annals.projection where name = 'search'");
        SearchIndex index = new SearchIndex(pool, new Limits(6000));
        FeedReader reader = new DatabaseReader(pool, index);
        for (int i = 0; i < 6; i++) {
            log.insertAsWriter(project, "'common', null", 1000);
            log.insertAsWriter(project, "'rare', 'Word'", 1);
        }
        new TestProjector(pool, List.of(index), 10_000).catchUp();
        List<Long> expected = new ArrayList<>();
        for (int i = 1; i <= 6; i++) {
            expected.add(begin + i * 1001L);
        }
        Filter rare = new Filter(null, null, "rare", null, null, null, null, "word", null);
        assertThat(FilteredPages.ids(FilteredPages.read(reader, project, Order.ASCENDING, null, null, 10, rare)))
                .isEqualTo(expected);
        Collections.reverse(expected);
        assertThat(FilteredPages.ids(FilteredPages.read(reader, project, Order.DESCENDING, null, null, 10, rare)))
                .isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", SERVICE_SETTINGS})
    void noStatementOfASearchReadsAWholeTable(String settings) throws SQLException, QueryException {
        UUID project = large().project();
        String filters = ", null, null, 'rare', null, null, null, null, null, null, null, null, null";
        String none = ", null".repeat(12);
        String keys =
                ", null, null, array[0, 1, 1, 1], array[1, 4, 6, 6], array[0, 0, 0, 1], array['rare', 'x', 'some words', 'vo'], 64";
        Condition condition = new Condition(QueryParser.parse(
                "-action:common (actor:a* OR metadata.a.b:c OR *mon*) ip:10.0.0.0/8 -\"some words\" recorded_at:2026-01-01..",
                null));
        String terms = filters.substring(0, filters.lastIndexOf("null")) + "array['"
                + String.join("','", condition.terms()) + "']";
        try (Connection connection = large().log().connect()) {
            SqlFixture.execute(connection, settings);
            for (String mode : List.of("force_custom_plan", "force_generic_plan")) {
                SqlFixture.execute(connection, "set plan_cache_mode = " + mode);
                for (String call : List.of(
                        "core/feed/scan_feed: '" + project + "', 1, 150000, '{150000}', '{155000}', 200" + filters,
                        "core/feed/scan_feed: '" + project + "', -1, 150000, '{145000}', '{150000}', 200" + filters,
                        "core/feed/scan_feed: '" + project + "', -1, null, '{null}', '{null}', 200" + none,
                        "core/feed/scan_feed narrowed: '" + project + "', 1, 150000, '{150000}', '{155000}', 200"
                                + terms,
                        "derived/facets/count_facets: '" + project
                                + "', '{145000}', '{150000}', 'hour', 7, null, null, null, null" + filters,
                        "derived/facets/count_facets narrowed: '" + project
                                + "', '{145000}', '{150000}', 'hour', 7, null, null, null, null" + terms,
                        "derived/facets/read_facets: '" + project
                                + "', '{150000}', '{1}', '{7}', '{1}', 7, null, null, null, null",
                        "derived/search/search_blocks: 8, 256" + keys + ", '" + project + "', 1, 1",
                        "derived/search/search_blocks: 8, 256" + keys + ", '" + project + "', -1, null",
                        "derived/search/search_blocks_by_time: 8, 256, '2030-01-01', null, '" + project + "', 1, 1",
                        "core/feed/read_feed: '" + project + "', 150000, 201",
                        "core/feed/read_large_records: '" + project + "', array['" + project + "'::uuid], 1000000")) {
                    String name = call.substring(0, call.indexOf(':'));
                    Sql statement = name.endsWith(" narrowed")
                            ? Sql.named(name.replace(" narrowed", "")).narrowed(condition.sql())
                            : Sql.named(name);
                    String plan = plan(connection, statement, call.substring(name.length() + 1));
                    assertThat(plan)
                            .as(name + ", " + mode + ", " + settings)
                            .doesNotContain(
                                    "Seq Scan on audit_record", "Seq Scan on feed_segment", "Seq Scan on append");
                    if (!settings.isEmpty()) {
                        assertThat(plan).as(name + ", " + mode).doesNotContain("Seq Scan");
                    }
                }
            }
        }
    }

    /** Shared, because it takes long to make. */
    private static Large large() throws SQLException {
        if (large == null) {
            SqlFixture log = SqlFixture.ofTheSchemaAlone();
            UUID project = log.insertProject();
            log.insertAsWriter(project, "case when n % 1000 = 0 then 'rare' else 'common' end, null", 80_000);
            Pool pool = pool(log);
            new TestProjector(pool, List.of(new SearchIndex(pool, new Limits(5000))), 10_000).catchUp();
            pool.close().await().indefinitely();
            log.run("analyze");
            large = new Large(log, project);
        }
        return large;
    }

    private static String plan(Connection connection, Sql statement, String binds) throws SQLException {
        SqlFixture.execute(
                connection, "prepare statement_of_test" + types(statement.toString()) + " as " + statement.text());
        String plan =
                String.join("\n", SqlFixture.texts(connection, "explain execute statement_of_test (" + binds + ")"));
        SqlFixture.execute(connection, "deallocate statement_of_test");
        return plan;
    }

    private static String types(String name) {
        String filters = "timestamptz, timestamptz, text, text, text, text, text, text, text, text, text, text[])";
        return switch (name) {
            case "scan_feed.sql" -> " (uuid, integer, bigint, bigint[], bigint[], integer, " + filters;
            case "count_facets.sql" ->
                " (uuid, bigint[], bigint[], text, bigint, text[], text[], text[], text[], " + filters;
            case "read_facets.sql" ->
                " (uuid, bigint[], integer[], bigint[], integer[], bigint, text[], text[], text[], text[])";
            case "search_blocks.sql" ->
                " (integer, integer, timestamptz, timestamptz, integer[], integer[], integer[], text[], integer, uuid, integer, bigint)";
            case "search_blocks_by_time.sql" -> " (integer, integer, timestamptz, timestamptz, uuid, integer, bigint)";
            case "read_large_records.sql" -> " (uuid, uuid[], bigint)";
            default -> " (uuid, bigint, integer)";
        };
    }

    /** Follows {@code next} to its end. Returns the last sequence id that the walk covered. */
    private static long walk(
            FeedReader reader,
            UUID project,
            Order order,
            int limit,
            Filter filter,
            List<Long> found,
            Consumer<FeedPage> between) {
        Cursor cursor = null;
        Cursor head = null;
        for (int pages = 0; ; pages++) {
            assertThat(pages).isLessThan(20_000);
            FeedPage page = FilteredPages.read(reader, project, order, cursor, head, limit, filter);
            assertThat(page.records().size()).isLessThanOrEqualTo(limit);
            found.addAll(FilteredPages.ids(page));
            if (page.next() == null) {
                return page.pollMore().sequenceId();
            }
            assertThat(page.next()).isNotEqualTo(cursor);
            cursor = page.next();
            head = page.head();
            between.accept(page);
        }
    }

    private static Filter randomFilter(Random random) {
        OffsetDateTime start = random.nextInt(4) == 0 ? FIRST_HOUR.plusHours(random.nextInt(100)) : null;
        OffsetDateTime end = random.nextInt(4) == 0 ? FIRST_HOUR.plusHours(random.nextInt(100)) : null;
        List<String> words = List.of("vol 3", "vol-5", "word7", "WORD12 ümit", "volume word40", "absent", "by vol 1");
        return new Filter(
                start,
                end,
                sometimes(random, "action " + random.nextInt(7)),
                sometimes(random, random.nextBoolean() ? "u" + random.nextInt(8) : "Name " + random.nextInt(5)),
                sometimes(random, random.nextBoolean() ? "u" + random.nextInt(8) : "Name " + random.nextInt(5)),
                sometimes(random, "outcome " + random.nextInt(4)),
                sometimes(random, "10.0.0." + random.nextInt(10)),
                sometimes(random, words.get(random.nextInt(words.size()))),
                sometimes(random, "role:role " + random.nextInt(5)));
    }

    private static @Nullable String sometimes(Random random, String value) {
        return random.nextInt(3) == 0 ? value : null;
    }

    /** The meaning of the filters, implemented differently. */
    private static boolean passes(Filter filter, StoredRecord stored) {
        var record = stored.record();
        return (filter.start() == null || !record.timestamp().isBefore(filter.start()))
                && (filter.end() == null || record.timestamp().isBefore(filter.end()))
                && (filter.action() == null || filter.action().equals(record.action()))
                && (filter.actor() == null || isParty(filter.actor(), record.actor()))
                && (filter.subject() == null || isParty(filter.subject(), record.subject()))
                && (filter.outcome() == null || filter.outcome().equals(record.outcome()))
                && (filter.ipAddress() == null || filter.ipAddress().equals(record.ipAddress()))
                && (filter.recordedBy() == null || filter.recordedBy().equals(stored.recordedBy()))
                && (filter.q() == null || words(everyText(stored)).containsAll(words(filter.q())));
    }

    private static String everyText(StoredRecord stored) {
        var record = stored.record();
        return Stream.of(
                        record.action(),
                        record.actor(),
                        record.subject(),
                        record.outcome(),
                        record.ipAddress(),
                        record.message(),
                        record.metadata(),
                        stored.recordedBy())
                .filter(Objects::nonNull)
                .map(Object::toString)
                .collect(Collectors.joining(" "));
    }

    private static boolean isParty(String wanted, @Nullable Party party) {
        return party != null && (wanted.equals(party.id()) || wanted.equals(party.name()));
    }

    private static List<String> words(String text) {
        return Arrays.asList(text.toLowerCase(Locale.ROOT).split("[^\\p{L}\\p{N}]+"));
    }

    private void startTheIndexAnew() {
        try {
            log.run("update annals.projection set generation = generation + 1 where name = 'search'");
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    private void append(UUID project, int count, Random random) {
        try (Connection connection = log.connect()) {
            RandomRecords.append(connection, project, count, random);
            connection.commit();
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }
}
