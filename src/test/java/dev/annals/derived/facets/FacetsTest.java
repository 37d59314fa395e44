package dev.annals.derived.facets;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.BesideTheService;
import dev.annals.Load;
import dev.annals.SqlFixture;
import dev.annals.access.places.OnePlace;
import dev.annals.core.feed.DatabaseReader;
import dev.annals.core.feed.FeedReader;
import dev.annals.core.query.Filter;
import dev.annals.core.query.Query;
import dev.annals.core.query.QueryParser;
import dev.annals.core.query.QueryParser.QueryException;
import dev.annals.core.record.AuditRecord.Party;
import dev.annals.core.record.StoredRecord;
import dev.annals.derived.projection.TestProjector;
import dev.annals.derived.search.FilteredPages;
import dev.annals.derived.search.RandomQueries;
import dev.annals.derived.search.SearchConfig;
import dev.annals.derived.search.SearchIndex;
import dev.annals.kernel.config.Settings;
import dev.annals.kernel.database.OneDatabase;
import dev.annals.kernel.database.PoolFixture;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.temporal.ChronoUnit;
import java.time.temporal.TemporalAdjusters;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.LongPredicate;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Facets match a count of the records that uses neither the database nor the index. */
@BesideTheService
class FacetsTest {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final List<Interval> INTERVALS = List.of(Interval.values());
    private static final Map<String, Function<StoredRecord, @Nullable String>> FIELDS = fields();

    private final SqlFixture log = SqlFixture.ofTheSchemaAlone();
    private final Pool pool = new PoolFixture(log.database(), Map.of()).open(8);
    private final SearchIndex index = new SearchIndex(pool, Settings.of(SearchConfig.class, Map.of()), 45, 9, 100_000);
    private final FeedReader reader = new DatabaseReader(pool, index);

    @AfterEach
    void closeThePool() {
        pool.close().await().indefinitely();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2})
    void facetsMatchACountOfTheRecordsForAnyFilter(long seed) throws SQLException, QueryException {
        Random random = new Random(seed);
        UUID project = log.insertProject();
        RandomQueries.append(log, project, 3_300, random);
        RandomQueries.append(log, log.insertProject(), 20, random);
        new TestProjector(pool, List.of(index), 10_000).catchUp();
        RandomQueries.append(log, project, 100, random);
        List<StoredRecord> all = FilteredPages.everyRecord(reader, project);
        int telling = 0;
        int rounds = Load.times(12, 300);
        for (int round = 0; round < rounds; round++) {
            Query part = round == 0 ? QueryParser.parse("-action:absent", null) : RandomQueries.random(random, 3);
            if (part.toString().length() > QueryParser.MAX_LENGTH) {
                continue;
            }
            String outcome = random.nextInt(5) == 0 ? RandomQueries.of(RandomQueries.OUTCOMES, random) : null;
            OffsetDateTime start =
                    random.nextInt(4) == 0 ? RandomQueries.FIRST_HOUR.plusHours(random.nextInt(50)) : null;
            OffsetDateTime end =
                    random.nextInt(4) == 0 ? RandomQueries.FIRST_HOUR.plusHours(random.nextInt(50, 100)) : null;
            Filter filter = new Filter(start, end, null, null, null, outcome, null, null, null).and(part);
            List<StoredRecord> expected = all.stream()
                    .filter(stored ->
                            (outcome == null || outcome.equals(stored.record().outcome()))
                                    && RandomQueries.matches(new Query.Time(false, start, end), stored)
                                    && RandomQueries.matches(part, stored))
                    .toList();
            FacetsRequest request =
                    new FacetsRequest(filter, null, RandomQueries.of(List.of(1, 3, 100), random), List.of());
            JsonNode answer = count(facets(Map.of()), project, request);
            assertThat(answer.path("through").asLong()).isEqualTo(3_400);
            assertThat(answer.path("complete").asBoolean()).isTrue();
            assertThat(answer.path("from").asLong()).isZero();
            assertIsACountOf(expected, request, answer);
            telling += expected.isEmpty() || expected.size() == all.size() ? 0 : 1;
        }
        assertThat(telling)
                .as("filters that some records pass, and some do not")
                .isGreaterThan(rounds / 2);
    }

    /** No frequent value is the newest one, and each has its own number of records. */
    @Test
    void theMostFrequentValuesAreTheFirstOfMany() throws SQLException {
        UUID project = log.insertProject();
        insert(project, "'act ' || floor(sqrt(2 * n)), 'made up ' || n, null", 9_000);
        JsonNode answer = count(facets(Map.of()), project, new FacetsRequest(Filter.NONE, null, 5, List.of()));
        assertIsACountOf(
                FilteredPages.everyRecord(reader, project), new FacetsRequest(Filter.NONE, null, 5, List.of()), answer);
        JsonNode actors = answer.path("facets").path(1);
        assertThat(actors.path("distinct").asInt()).isEqualTo(9_000);
        assertThat(actors.path("values")).hasSize(5);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void intervalsAreAsShortAsTheRangeAllows(long seed) throws SQLException {
        Random random = new Random(seed);
        UUID project = log.insertProject();
        long spread = List.of(7_000L, 3_000_000L, 100_000_000L, 4_000_000_000L, 250_000_000_000L)
                .get(random.nextInt(5));
        try (Connection connection = log.connect();
                PreparedStatement insert = connection.prepareStatement(
                        "insert into annals.audit_record (project_id, action, outcome, \"timestamp\")"
                                + " values (?, 'a', ?, ?)")) {
            for (int record = 0; record < 1_500; record++) {
                insert.setObject(1, project);
                insert.setString(2, random.nextInt(3) == 0 ? null : "outcome " + random.nextInt(14));
                insert.setObject(3, OffsetDateTime.parse("0001-01-01T00:00:00Z").plusSeconds(random.nextLong(spread)));
                insert.addBatch();
            }
            insert.executeBatch();
            connection.commit();
        }
        List<StoredRecord> all = FilteredPages.everyRecord(reader, project);
        List<@Nullable Interval> asked = new ArrayList<>(List.of(Interval.values()));
        asked.add(null);
        for (Interval interval : asked) {
            FacetsRequest request = new FacetsRequest(Filter.NONE, interval, 10, List.of());
            if (interval != null && interval != Interval.YEAR && span(interval, all) > 1_000) {
                Interval longer = interval;
                while (longer != Interval.YEAR && span(longer, all) > 1_000) {
                    longer = INTERVALS.get(INTERVALS.indexOf(longer) + 1);
                }
                assertThatThrownBy(() -> count(facets(Map.of()), project, request))
                        .isInstanceOf(ProblemException.class)
                        .hasMessageContaining("take " + longer.text() + ",");
            } else {
                assertIsACountOf(all, request, count(facets(Map.of()), project, request));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 999, 2_500})
    void aLimitedCountHasTheNewestRecordsAndSaysSo(int records) throws SQLException, QueryException {
        UUID project = log.insertProject();
        RandomQueries.append(log, project, 2_600, new Random(7));
        Facets facets = facets(Map.of("annals.facets.records", Integer.toString(records)));
        Query query = QueryParser.parse("-outcome:success", null);
        FacetsRequest request = new FacetsRequest(Filter.NONE.and(query), null, 100, List.of());
        JsonNode answer = count(facets, project, request);
        assertThat(answer.path("complete").asBoolean()).isFalse();
        assertThat(answer.path("from").asLong()).isEqualTo(2_600 - records);
        assertIsACountOf(
                FilteredPages.everyRecord(reader, project).stream()
                        .filter(stored -> stored.sequenceId() > 2_600 - records && RandomQueries.matches(query, stored))
                        .toList(),
                request,
                answer);
        // The index rules the others out.
        insert(project, "'needle', null, null", 1);
        RandomQueries.append(log, project, 2_000, new Random(7));
        new TestProjector(pool, List.of(index), 10_000).catchUp();
        Filter needle = new Filter(null, null, "needle", null, null, null, null, null, null);
        answer = count(facets, project, new FacetsRequest(needle, null, 1, List.of()));
        if (records > 1_000) {
            assertThat(answer.path("complete").asBoolean()).isTrue();
            assertThat(answer.path("total").asInt()).isEqualTo(1);
        }
    }

    /** The index gives 248 blocks at a time. The last one begins with a record, which counts once. */
    @Test
    void aCountContinuesWhereTheIndexEnded() throws SQLException {
        UUID project = log.insertProject();
        insert(project, "'a', null, null", 3 * 1_024);
        new TestProjector(pool, List.of(index), 10_000).catchUp();
        // places without records, in blocks of the index
        String through = Long.toString(249 * 1_024L);
        log.run(
                "insert into annals.feed_segment (project_id, append_id, first_sequence_id, last_sequence_id) values ('"
                        + project + "', gen_random_uuid(), 3073, " + through + ")",
                "insert into annals.search_block (project_id, block, first_timestamp, last_timestamp, keys, places, masks)"
                        + " select '" + project
                        + "', block, now(), now(), '{}', '{}', '{}' from generate_series(3, 248) block",
                "update annals.projection_checkpoint set sequence_id = " + through + " where project_id = '" + project
                        + "' and projection = 'search'");
        Facets facets = facets(Map.of("annals.facets.records", "1000000"));
        JsonNode answer = count(facets, project, new FacetsRequest(Filter.NONE, null, 1, List.of()));
        assertThat(answer.path("complete").asBoolean()).isTrue();
        assertThat(answer.path("through").asText()).isEqualTo(through);
        assertThat(answer.path("total").asInt()).isEqualTo(3 * 1_024);
    }

    @Test
    void aCountEndsWhenItsMemoryIsUsed() throws SQLException {
        UUID project = log.insertProject();
        insert(project, "'a', 'made up ' || n, null", 5_000);
        FacetsRequest request = new FacetsRequest(Filter.NONE, null, 1, List.of());
        // for a thousand values: fast statements read more places each time
        LongPredicate little = bytes -> bytes < Facets.firstMemory(request) + 50_000;
        JsonNode answer = count(facets(Map.of()), project, request, little);
        long from = answer.path("from").asLong();
        assertThat(answer.path("complete").asBoolean()).isFalse();
        assertThat(from).isBetween(1L, 4_000L);
        assertThat(answer.path("total").asLong()).isEqualTo(5_000 - from);
    }

    /** Splitting such a message into words takes a millisecond or more. */
    @Test
    void aStatementThatTakesTooLongEndsTheCount() throws SQLException, QueryException {
        UUID project = log.insertProject();
        // A statement beside it reads these in time.
        insert(project, "'needle', null, 'x y'", 1_100);
        insert(project, "'hay', null, repeat('x ', 8000)", 1_000);
        Facets facets = new Facets(
                OnePlace.of(pool),
                OneDatabase.of(pool),
                index,
                Settings.of(FacetsConfig.class, Map.of()),
                Duration.ofMillis(50));
        Filter phrase = Filter.NONE.and(QueryParser.parse("\"x y\"", null));
        JsonNode answer = count(facets, project, new FacetsRequest(phrase, null, 1, List.of()));
        assertThat(answer.path("complete").asBoolean()).isFalse();
        assertThat(answer.path("from").asLong()).isEqualTo(2_100);
        assertThat(answer.path("total").asLong()).isZero();
    }

    @Test
    void aFewAreCountedAtATimeAndAFewMayWait() throws SQLException {
        Facets facets = facets(Map.of("annals.facets.concurrent", "1"));
        List<UUID> projects = new ArrayList<>();
        for (int i = 0; i < 1 + Facets.WAITING; i++) {
            projects.add(projectOfThree());
        }
        UUID further = projectOfThree();
        try (Connection owner = log.connect()) {
            SqlFixture.execute(owner, "lock table annals.audit_record in access exclusive mode");
            List<String> order = Collections.synchronizedList(new ArrayList<>());
            List<Uni<byte[]>> begun = new ArrayList<>();
            for (UUID project : projects) {
                begun.add(begin(facets, project, order));
            }
            assertOverloaded(facets, further);
            owner.rollback();
            for (Uni<byte[]> one : begun) {
                assertThat(read(one.await().atMost(LIMIT)).path("total").asInt())
                        .isEqualTo(3);
            }
        }
    }

    /** Without queues per project, each project would wait behind all requests of a busy one. */
    @Test
    void aProjectThatCountsAllTheTimeDelaysAnotherByOneRequest() throws SQLException {
        Facets facets = facets(Map.of("annals.facets.concurrent", "1"));
        UUID busy = projectOfThree();
        UUID quiet = projectOfThree();
        List<String> order = Collections.synchronizedList(new ArrayList<>());
        try (Connection owner = log.connect()) {
            SqlFixture.execute(owner, "lock table annals.audit_record in access exclusive mode");
            List<Uni<byte[]>> begun = new ArrayList<>();
            for (int i = 0; i < 1 + Facets.WAITING_PER_PROJECT; i++) {
                begun.add(begin(facets, busy, order));
            }
            assertOverloaded(facets, busy);
            begun.add(begin(facets, quiet, order));
            owner.rollback();
            for (Uni<byte[]> one : begun) {
                one.await().atMost(LIMIT);
            }
        }
        List<String> expected = new ArrayList<>(Collections.nCopies(1 + Facets.WAITING_PER_PROJECT, busy.toString()));
        expected.add(1, quiet.toString());
        assertThat(order).containsExactlyElementsOf(expected);
        assertThat(count(facets, busy, OF_ALL).path("total").asInt()).isEqualTo(3);
    }

    private static final FacetsRequest OF_ALL = new FacetsRequest(Filter.NONE, null, 1, List.of());

    private UUID projectOfThree() throws SQLException {
        UUID project = log.insertProject();
        insert(project, "'a', null, null", 3);
        return project;
    }

    /** Sends a request, and adds the project when it is answered. */
    private static Uni<byte[]> begin(Facets facets, UUID project, List<String> order) {
        Uni<byte[]> one = facets.count(project, OF_ALL, FacetsTest::isEnough)
                .invoke(answer -> order.add(project.toString()))
                .memoize()
                .indefinitely();
        one.subscribe().with(answer -> {}, failure -> {});
        return one;
    }

    private static void assertOverloaded(Facets facets, UUID project) {
        assertThatThrownBy(() -> count(facets, project, OF_ALL))
                .isInstanceOfSatisfying(
                        ProblemException.class,
                        refused -> assertThat(refused.problem().type()).isEqualTo(ProblemType.OVERLOADED));
    }

    /** A week may be part of two months, so counts by week could not become counts by month. */
    @Test
    void weeksThatBecomeMonthsAreDividedAtTheirEnds() {
        Timeline timeline = new Timeline(Filter.NONE, Interval.WEEK, 120);
        long wednesday = epochSecond("2025-12-31T10:00:00Z");
        long thursday = epochSecond("2026-01-01T10:00:00Z");
        timeline.add(thursday, null);
        timeline.add(wednesday, null);
        timeline.add(wednesday, null);
        timeline.coarsen();
        assertThat(timeline.counts()).containsOnlyKeys(epochSecond("2025-12-29T00:00:00Z"));
        for (int i = 0; i < 4; i++) {
            timeline.add(epochSecond("2020-06-15T10:00:00Z"), null);
        }
        timeline.coarsen();
        assertThat(timeline.interval()).isEqualTo(Interval.MONTH);
        assertThat(timeline.counts().values())
                .extracting(counts -> counts.get(null))
                .containsExactly(4, 2, 1);
    }

    private static long epochSecond(String time) {
        return Instant.parse(time).getEpochSecond();
    }

    private static boolean isEnough(long bytes) {
        return bytes > 0;
    }

    private Facets facets(Map<String, String> settings) {
        return new Facets(OnePlace.of(pool), OneDatabase.of(pool), index, Settings.of(FacetsConfig.class, settings));
    }

    private static JsonNode count(Facets facets, UUID project, FacetsRequest request) {
        return count(facets, project, request, FacetsTest::isEnough);
    }

    private static JsonNode count(Facets facets, UUID project, FacetsRequest request, LongPredicate memory) {
        return read(facets.count(project, request, memory).await().atMost(LIMIT));
    }

    private static JsonNode read(byte[] json) {
        try {
            return JSON.readTree(json);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void assertIsACountOf(List<StoredRecord> records, FacetsRequest request, JsonNode answer) {
        String filter = request.filter().toString();
        assertThat(answer.path("total").asInt()).as(filter).isEqualTo(records.size());
        assertIntervals(records, request, answer);
        List<String> fields = new ArrayList<>();
        for (JsonNode facet : answer.path("facets")) {
            String field = facet.path("field").asText();
            fields.add(field);
            Map<String, Integer> counts = counts(field, records);
            int present = counts.values().stream().mapToInt(count -> count).sum();
            assertThat(facet.path("distinct").asInt()).as(field + filter).isEqualTo(counts.size());
            assertThat(facet.path("missing").asInt()).as(field + filter).isEqualTo(records.size() - present);
            List<Map.Entry<String, Integer>> shown = new ArrayList<>();
            facet.path("values").forEach(value -> {
                shown.add(Map.entry(
                        value.path("value").asText(), value.path("count").asInt()));
                assertName(field, records, value);
            });
            assertThat(shown).as(field).hasSize(Math.min(request.top(), counts.size()));
            assertThat(counts.entrySet()).as(field + filter).containsAll(shown);
            assertThat(shown).isSortedAccordingTo(byFrequency());
            assertThat(shown.stream().map(Map.Entry::getValue).toList())
                    .as(field + filter)
                    .isEqualTo(counts.values().stream()
                            .sorted(Comparator.reverseOrder())
                            .limit(request.top())
                            .toList());
        }
        assertThat(fields).isEqualTo(FacetAnswer.FIELDS);
    }

    private static Comparator<Map.Entry<String, Integer>> byFrequency() {
        Comparator<Map.Entry<String, Integer>> rareFirst = Map.Entry.comparingByValue();
        return rareFirst.reversed().thenComparing(Map.Entry.comparingByKey());
    }

    /** The newest record with the value gives the name. */
    private static void assertName(String field, List<StoredRecord> records, JsonNode value) {
        StoredRecord newest = records.stream()
                .filter(stored ->
                        value.path("value").asText().equals(FIELDS.get(field).apply(stored)))
                .max(Comparator.comparingLong(StoredRecord::sequenceId))
                .orElseThrow();
        Party party = field.equals("actor")
                ? newest.record().actor()
                : field.equals("subject") ? newest.record().subject() : null;
        String name = party == null || party.id() == null ? null : party.name();
        assertThat(value.has("name") ? value.path("name").asText() : null).isEqualTo(name);
    }

    private static void assertIntervals(List<StoredRecord> records, FacetsRequest request, JsonNode answer) {
        Interval interval = Interval.named(answer.path("interval").asText()).orElseThrow();
        boolean ranged = request.filter().start() != null && request.filter().end() != null;
        if (request.interval() != null) {
            assertThat(interval).isEqualTo(request.interval());
        } else if (!records.isEmpty()
                && request.filter().start() == null
                && request.filter().end() == null) {
            assertThat(span(interval, records) <= 120 || interval == Interval.YEAR)
                    .isTrue();
            assertThat(interval == Interval.MINUTE
                            || span(INTERVALS.get(INTERVALS.indexOf(interval) - 1), records) > 120)
                    .isTrue();
        } else if (ranged) {
            long hours = Duration.between(
                            request.filter().start(), request.filter().end())
                    .toHours();
            assertThat(interval).isEqualTo(hours <= 2 ? Interval.MINUTE : Interval.HOUR);
        }
        Map<String, Integer> outcomes = counts("outcome", records);
        List<String> frequent = outcomes.entrySet().stream()
                .sorted(byFrequency())
                .map(Map.Entry::getKey)
                .toList();
        Map<OffsetDateTime, List<StoredRecord>> expected = new TreeMap<>();
        records.forEach(stored -> expected.computeIfAbsent(
                        start(interval, stored.record().timestamp()), begin -> new ArrayList<>())
                .add(stored));
        List<JsonNode> shown = StreamSupport.stream(answer.path("intervals").spliterator(), false)
                .toList();
        assertThat(shown.stream()
                        .map(one -> OffsetDateTime.parse(one.path("start").asText()))
                        .toList())
                .isEqualTo(List.copyOf(expected.keySet()));
        int place = 0;
        for (List<StoredRecord> of : expected.values()) {
            JsonNode one = shown.get(place++);
            assertThat(one.path("count").asInt()).isEqualTo(of.size());
            Map<String, Integer> counts = counts("outcome", of);
            Map<String, Integer> told = new HashMap<>();
            one.path("outcomes")
                    .forEach(outcome -> told.put(
                            outcome.path("value").asText(),
                            outcome.path("count").asInt()));
            if (frequent.size() <= FacetAnswer.TOP_OUTCOMES) {
                assertThat(told).isEqualTo(counts);
            } else {
                assertThat(counts).containsAllEntriesOf(told);
                assertThat(told.keySet()).isSubsetOf(frequent);
            }
        }
    }

    private static long span(Interval interval, List<StoredRecord> records) {
        OffsetDateTime first = records.stream()
                .map(stored -> start(interval, stored.record().timestamp()))
                .min(Comparator.naturalOrder())
                .orElseThrow();
        OffsetDateTime last = records.stream()
                .map(stored -> start(interval, stored.record().timestamp()))
                .max(Comparator.naturalOrder())
                .orElseThrow();
        return 1
                + switch (interval) {
                    case MINUTE -> ChronoUnit.MINUTES.between(first, last);
                    case HOUR -> ChronoUnit.HOURS.between(first, last);
                    case DAY -> ChronoUnit.DAYS.between(first, last);
                    case WEEK -> ChronoUnit.WEEKS.between(first, last);
                    case MONTH -> ChronoUnit.MONTHS.between(first, last);
                    case YEAR -> ChronoUnit.YEARS.between(first, last);
                };
    }

    private static OffsetDateTime start(Interval interval, OffsetDateTime moment) {
        OffsetDateTime day = moment.truncatedTo(ChronoUnit.DAYS);
        return switch (interval) {
            case MINUTE -> moment.truncatedTo(ChronoUnit.MINUTES);
            case HOUR -> moment.truncatedTo(ChronoUnit.HOURS);
            case DAY -> day;
            case WEEK -> day.with(TemporalAdjusters.previousOrSame(DayOfWeek.MONDAY));
            case MONTH -> day.with(TemporalAdjusters.firstDayOfMonth());
            case YEAR -> day.with(TemporalAdjusters.firstDayOfYear());
        };
    }

    private static Map<String, Integer> counts(String field, List<StoredRecord> records) {
        Map<String, Integer> counts = new HashMap<>();
        for (StoredRecord stored : records) {
            String value = FIELDS.get(field).apply(stored);
            if (value != null) {
                counts.merge(value, 1, Integer::sum);
            }
        }
        return counts;
    }

    private static Map<String, Function<StoredRecord, @Nullable String>> fields() {
        return Map.of(
                "action", stored -> stored.record().action(),
                "actor", stored -> idOrName(stored.record().actor()),
                "subject", stored -> idOrName(stored.record().subject()),
                "outcome", stored -> stored.record().outcome(),
                "ip_address", stored -> stored.record().ipAddress(),
                "recorded_by", StoredRecord::recordedBy);
    }

    private static @Nullable String idOrName(@Nullable Party party) {
        return party == null ? null : party.id() != null ? party.id() : party.name();
    }

    private void insert(UUID project, String actionActorAndMessage, int count) throws SQLException {
        try (Connection connection = log.connectAsWriter();
                PreparedStatement insert = connection.prepareStatement(
                        "insert into annals.audit_record (project_id, action, actor_id, message) select ?, "
                                + actionActorAndMessage + " from generate_series(1, ?) n")) {
            insert.setObject(1, project);
            insert.setInt(2, count);
            insert.executeUpdate();
            connection.commit();
        }
    }
}
