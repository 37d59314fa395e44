package dev.annals.derived.facets;

import dev.annals.access.places.Places;
import dev.annals.core.feed.FeedIndex.ScanPlan;
import dev.annals.derived.search.SearchIndex;
import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.PerDatabase;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.Bulkhead;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import io.vertx.pgclient.PgException;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.inject.Inject;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongPredicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Counts records that pass a filter, from the newest to the oldest, at the places that the {@link SearchIndex} names. Each statement reads
 * hashes of the values of a few thousand records; {@link FacetAnswer} counts them. One last statement reads the values that the answer
 * shows.
 *
 * <p>At its limits of time, records or memory, a request ends with an answer that says that it is incomplete. Projects take turns: a
 * project runs one request at a time, and has one place in the queue.
 */
@ApplicationScoped
class Facets {

    private static final Sql READ_BOUNDS = Sql.named("derived/facets/read_bounds");
    private static final Sql LIMIT_COUNT = Sql.named("derived/facets/limit_count");
    private static final Sql COUNT_FACETS = Sql.named("derived/facets/count_facets");
    private static final Sql READ_FACETS = Sql.named("derived/facets/read_facets");

    /** The most intervals if the request names no length. */
    private static final int FEW_INTERVALS = 120;

    private static final int MOST_INTERVALS = 1_000;

    /** The places of a statement. The number grows while statements are short, and shrinks after a long one. */
    private static final int FIRST_PLACES = 1_000;

    private static final int MOST_PLACES = 4_000;
    private static final int FEWEST_PLACES = 100;
    private static final long SHORT_NANOS = 50_000_000;
    private static final long LONG_NANOS = 4 * SHORT_NANOS;

    /** The statements that a request runs at a time. */
    private static final int STATEMENTS = 2;

    private static final String TOO_MANY = "Too many requests count records: try again.";

    /** PostgreSQL's query_canceled. */
    private static final String CANCELLED = "57014";

    /** A person waits for the answer. */
    private static final Duration TIME = Duration.ofSeconds(5);
    /** A statement takes milliseconds as a rule. */
    private static final Duration STATEMENT_TIMEOUT = Duration.ofSeconds(2);
    /** Waiting projects, each with one request. The last one gets its answer within {@link #MAX_WAIT} as a rule. */
    static final int WAITING = 32;
    /** More than a viewer sends. */
    static final int WAITING_PER_PROJECT = 8;

    private static final Duration MAX_WAIT = Duration.ofSeconds(15);

    private final SecureRandom random = new SecureRandom();
    private final Places places;
    private final SearchIndex index;
    private final FacetsConfig config;
    private final Duration statementTimeout;
    private final PerDatabase<Bulkhead> counting;
    /** A project holds one place in {@link #counting}, so it delays others by one request at most. */
    private final Map<UUID, ProjectQueue> queues = new ConcurrentHashMap<>();

    private static final class ProjectQueue {
        final Bulkhead requests = new Bulkhead(1, WAITING_PER_PROJECT, MAX_WAIT, TOO_MANY);
        int users;
    }

    @Inject
    Facets(Places places, Databases databases, SearchIndex index, FacetsConfig config) {
        this(places, databases, index, config, STATEMENT_TIMEOUT);
    }

    Facets(Places places, Databases databases, SearchIndex index, FacetsConfig config, Duration statementTimeout) {
        this.places = places;
        this.index = index;
        this.config = config;
        this.statementTimeout = statementTimeout;
        this.counting = new PerDatabase<>(
                databases, database -> new Bulkhead(config.concurrent(), WAITING, MAX_WAIT, TOO_MANY));
    }

    static long firstMemory(FacetsRequest request) {
        // A value and its name, twice: as read and as JSON.
        long values = 8_192L * FacetAnswer.fields(request) * Math.max(request.top(), FacetAnswer.TOP_OUTCOMES);
        return (long) STATEMENTS * MOST_PLACES * FacetAnswer.bytesPerRecord(request) + values;
    }

    /**
     * Counts records of a project.
     *
     * @param memory grants the request so many bytes altogether; {@link #firstMemory} are granted already
     * @return JSON. Fails with {@code result-too-large} if there are too many intervals, and with {@code
     *     overloaded} if too many requests wait
     */
    Uni<byte[]> count(UUID projectId, FacetsRequest request, LongPredicate memory) {
        return Uni.createFrom().deferred(() -> {
            Timeline timeline = timeline(request);
            requireLength(request, timeline);
            return places.on(
                    projectId,
                    database -> inTurn(
                            projectId,
                            database,
                            () -> DatabaseFailure.retried(READ_BOUNDS
                                            .bind("project_id", projectId)
                                            .execute(database.reads()))
                                    .chain(rows -> new Walk(
                                                    projectId,
                                                    database.reads(projectId),
                                                    request,
                                                    timeline,
                                                    memory,
                                                    rows.iterator().next())
                                            .answer())));
        });
    }

    private Uni<byte[]> inTurn(UUID projectId, Database database, Supplier<Uni<byte[]>> count) {
        ProjectQueue queue = queues.compute(projectId, (id, known) -> {
            ProjectQueue used = known == null ? new ProjectQueue() : known;
            used.users++;
            return used;
        });
        return queue.requests
                .run(() -> counting.of(database).run(count))
                .onTermination()
                .invoke(() -> queues.computeIfPresent(projectId, (id, used) -> --used.users == 0 ? null : used));
    }

    private static Timeline timeline(FacetsRequest request) {
        return request.interval() == null
                ? new Timeline(request.filter(), Interval.MINUTE, FEW_INTERVALS)
                : new Timeline(request.filter(), request.interval(), MOST_INTERVALS);
    }

    private static void requireLength(FacetsRequest request, Timeline timeline) {
        if (request.interval() != null && timeline.interval() != request.interval()) {
            throw new ProblemException(
                    ProblemType.RESULT_TOO_LARGE,
                    "The range has more than " + MOST_INTERVALS + " intervals of this length: take "
                            + timeline.interval().text() + ", a shorter range, or no interval.");
        }
    }

    /** @param records empty if the statement ran into its time limit */
    private record Piece(ScanPlan places, Optional<Row> records, long nanos) {}

    /** One request. All records after {@code from} are counted. The plan covers the records from {@code lowest} to {@code before}. */
    private final class Walk {

        private final UUID projectId;
        private final Pool pool;
        private final SearchIndex index;
        private final FacetsRequest request;
        private final FacetAnswer answer;
        private final LongPredicate memory;
        private final long through;
        private final long horizon;
        private final long seed = random.nextLong();
        private final long deadline = System.nanoTime() + TIME.toNanos();

        private @Nullable ScanPlan plan;
        private long before;
        private long lowest;
        private long from;

        private long looked;
        private int places = FIRST_PLACES;

        Walk(UUID projectId, Pool pool, FacetsRequest request, Timeline timeline, LongPredicate memory, Row bounds) {
            this.projectId = projectId;
            this.pool = pool;
            this.index = Facets.this.index.readBy(pool);
            this.request = request;
            this.answer = new FacetAnswer(timeline, request);
            this.memory = memory;
            this.through = bounds.getLong("head");
            this.horizon = bounds.getLong("horizon");
            this.before = through + 1;
            this.from = through;
        }

        Uni<byte[]> answer() {
            return Multi.createBy()
                    .repeating()
                    .uni(this::step)
                    .whilst(more -> more)
                    .collect()
                    .last()
                    .chain(this::values)
                    .map(values ->
                            JsonBody.toBytes(4_096, json -> answer.write(extent(), request.top(), values, json)));
        }

        private boolean isComplete() {
            return from <= horizon;
        }

        private FacetAnswer.Extent extent() {
            return new FacetAnswer.Extent(through, isComplete() ? 0 : from, isComplete());
        }

        private Uni<Boolean> step() {
            if (isComplete()) {
                return Uni.createFrom().item(false);
            }
            ScanPlan ahead = plan;
            if (ahead != null && !ahead.isEmpty()) {
                return countNext(ahead);
            }
            return DatabaseFailure.retried(
                            index.planBack(projectId, before, request.filter(), config.records() - looked))
                    .chain(made -> {
                        plan = made;
                        lowest = made.lowest();
                        return countNext(made);
                    });
        }

        /** Each piece has a statement of its own. */
        private Uni<Boolean> countNext(ScanPlan ahead) {
            List<Uni<Piece>> pieces = new ArrayList<>();
            do {
                pieces.add(count(ahead.takeBack(places)));
            } while (pieces.size() < STATEMENTS && !ahead.isEmpty());
            // allMatch stops at the first piece that ends the count: later ones would leave a gap.
            return Uni.join()
                    .all(pieces)
                    .andCollectFailures()
                    .map(done -> done.stream().allMatch(piece -> add(ahead, piece)));
        }

        private Uni<Piece> count(ScanPlan piece) {
            long began = System.nanoTime();
            return DatabaseFailure.retried(pool.withTransaction(connection -> LIMIT_COUNT
                                    .bind("millis", statementTimeout.toMillis())
                                    .execute(connection)
                                    .chain(() -> request.filter()
                                            .of(COUNT_FACETS)
                                            .bind("project_id", projectId)
                                            .bind("first", piece.first())
                                            .bind("last", piece.last())
                                            .bind(
                                                    "interval",
                                                    answer.timeline()
                                                            .interval()
                                                            .counted()
                                                            .text())
                                            .bind("seed", seed)
                                            .bind("first_path", path(0))
                                            .bind("second_path", path(1))
                                            .bind("third_path", path(2))
                                            .bind("fourth_path", path(3))
                                            .execute(connection)))
                            .map(rows -> Optional.of(rows.iterator().next()))
                            .onFailure(Facets::wasCancelled)
                            .recoverWithItem(Optional.empty()))
                    .map(row -> new Piece(piece, row, System.nanoTime() - began));
        }

        private String @Nullable [] path(int number) {
            return number < request.paths().size()
                    ? request.paths().get(number).names().toArray(String[]::new)
                    : null;
        }

        private boolean add(ScanPlan ahead, Piece piece) {
            if (piece.records().isEmpty()) {
                return false;
            }
            answer.add(piece.records().get());
            looked += piece.places().places();
            from = piece.places().lowest() - 1;
            if (ahead.isEmpty()) {
                before = lowest;
            }
            if (piece.nanos() < SHORT_NANOS) {
                places = Math.min(MOST_PLACES, 2 * places);
            } else if (piece.nanos() > LONG_NANOS) {
                places = Math.max(FEWEST_PLACES, places / 2);
            }
            return !isComplete()
                    && looked < config.records()
                    && System.nanoTime() < deadline
                    && memory.test(firstMemory(request) + answer.bytes());
        }

        private Uni<List<FacetAnswer.Value>> values() {
            try {
                requireLength(request, answer.timeline());
            } catch (ProblemException tooFine) {
                return Uni.createFrom().failure(tooFine);
            }
            List<Long> places = new ArrayList<>();
            List<Integer> fields = new ArrayList<>();
            List<Long> keys = new ArrayList<>();
            List<Integer> counts = new ArrayList<>();
            for (int field = 0; field < FacetAnswer.fields(request); field++) {
                for (ValueCounts.Group group : answer.top(field, request.top())) {
                    places.add(group.newest());
                    fields.add(field);
                    keys.add(group.key());
                    counts.add(group.count());
                }
            }
            return DatabaseFailure.retried(READ_FACETS
                    .bind("project_id", projectId)
                    .bind("sequence_id", places.toArray(Long[]::new))
                    .bind("field", fields.toArray(Integer[]::new))
                    .bind("key", keys.toArray(Long[]::new))
                    .bind("record_count", counts.toArray(Integer[]::new))
                    .bind("seed", seed)
                    .bind("first_path", path(0))
                    .bind("second_path", path(1))
                    .bind("third_path", path(2))
                    .bind("fourth_path", path(3))
                    .execute(pool)
                    .map(Facets::values));
        }
    }

    private static List<FacetAnswer.Value> values(RowSet<Row> rows) {
        List<FacetAnswer.Value> values = new ArrayList<>();
        for (Row row : rows) {
            values.add(new FacetAnswer.Value(
                    row.getInteger("field"),
                    row.getLong("key"),
                    row.getInteger("record_count"),
                    row.getString("value"),
                    row.getString("name")));
        }
        return values;
    }

    private static boolean wasCancelled(Throwable failure) {
        return failure instanceof PgException error && CANCELLED.equals(error.getSqlState());
    }
}
