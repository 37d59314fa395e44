package dev.annals.derived.facets;

import dev.annals.core.feed.FeedIndex.ScanPlan;
import dev.annals.derived.search.SearchIndex;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Reads;
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
 * Counts the records that pass a filter, from the newest back to the oldest: at the places that the index names, as pages do, a few
 * thousand with each statement. PostgreSQL groups them by hashes of their values; only the values that are shown are read.
 *
 * <p>A count that is not over in time, or in memory, ends where it is, and says so.
 */
@ApplicationScoped
class Facets {

    private static final Sql READ_BOUNDS = Sql.named("derived/facets/read_bounds");
    private static final Sql LIMIT_COUNT = Sql.named("derived/facets/limit_count");
    private static final Sql COUNT_FACETS = Sql.named("derived/facets/count_facets");
    private static final Sql READ_FACETS = Sql.named("derived/facets/read_facets");

    /** How many intervals there are at most where nobody asks for their length. */
    private static final int FEW_INTERVALS = 120;

    private static final int MOST_INTERVALS = 1_000;

    /** Places that one statement looks at: at first, and later, if none of them takes long. */
    private static final int FIRST_PLACES = 1_000;

    private static final int MOST_PLACES = 4_000;
    private static final int FEWEST_PLACES = 100;
    private static final long SHORT_NANOS = 50_000_000;
    private static final long LONG_NANOS = 4 * SHORT_NANOS;

    /** How many statements of a request look at a time. */
    private static final int STATEMENTS = 2;

    private static final String TOO_MANY = "Too many requests count records: try again.";

    /** PostgreSQL's query_canceled. */
    private static final String CANCELLED = "57014";

    /** How long a request may look at records; its answer is incomplete then. A reader of the viewer waits for it. */
    private static final Duration TIME = Duration.ofSeconds(5);
    /**
     * How long one statement may look at records: it looks at a few thousand at most, which takes milliseconds; one that takes longer is
     * repeated with fewer.
     */
    private static final Duration STATEMENT_TIMEOUT = Duration.ofSeconds(2);
    /** How many further projects may wait, each with one request: the last of them gets its answer within {@link #MAX_WAIT}, mostly. */
    static final int WAITING = 32;
    /** How many further requests of a project may wait behind the one that is counted: more than a viewer's reader sends. */
    static final int WAITING_PER_PROJECT = 8;
    /** How long a request may take, including its wait: a reader who looks at a page does not wait for longer. */
    private static final Duration MAX_WAIT = Duration.ofSeconds(15);

    private final SecureRandom random = new SecureRandom();
    private final Pool pool;
    private final SearchIndex index;
    private final FacetsConfig config;
    private final Duration statementTimeout;
    private final Bulkhead counting;
    /** Of each project that counts: it has one place in {@link #counting}, so that it delays no other by more than one request. */
    private final Map<UUID, Lane> lanes = new ConcurrentHashMap<>();

    private static final class Lane {
        final Bulkhead requests = new Bulkhead(1, WAITING_PER_PROJECT, MAX_WAIT, TOO_MANY);
        int users;
    }

    @Inject
    Facets(@Reads Pool pool, SearchIndex index, FacetsConfig config) {
        this(pool, index, config, STATEMENT_TIMEOUT);
    }

    Facets(Pool pool, SearchIndex index, FacetsConfig config, Duration statementTimeout) {
        this.pool = pool;
        this.index = index;
        this.config = config;
        this.statementTimeout = statementTimeout;
        this.counting = new Bulkhead(config.concurrent(), WAITING, MAX_WAIT, TOO_MANY);
    }

    /** How many bytes a request may take at first; see {@link #count}. */
    static long firstMemory(FacetsRequest request) {
        // A value and its name, as JSON and before.
        long values = 8_192L * Count.FIELDS.size() * Math.max(request.top(), Count.TOP_OUTCOMES);
        return (long) STATEMENTS * MOST_PLACES * Count.BYTES_PER_RECORD + values;
    }

    /**
     * Counts.
     *
     * @param memory whether the request may hold so many bytes altogether, from {@link #firstMemory} on
     * @return the answer, as JSON. Fails with {@code result-too-large} if the intervals would be too many, and with
     *     {@code overloaded} if too many are counting
     */
    Uni<byte[]> count(UUID projectId, FacetsRequest request, LongPredicate memory) {
        return Uni.createFrom().deferred(() -> {
            Timeline timeline = timeline(request);
            requireLength(request, timeline);
            return inTurn(
                    projectId,
                    () -> DatabaseFailure.retried(
                                    READ_BOUNDS.bind("project_id", projectId).execute(pool))
                            .chain(rows -> new Walk(
                                            projectId,
                                            request,
                                            timeline,
                                            memory,
                                            rows.iterator().next())
                                    .answer()));
        });
    }

    private Uni<byte[]> inTurn(UUID projectId, Supplier<Uni<byte[]>> count) {
        Lane lane = lanes.compute(projectId, (id, known) -> {
            Lane used = known == null ? new Lane() : known;
            used.users++;
            return used;
        });
        return lane.requests
                .run(() -> counting.run(count))
                .onTermination()
                .invoke(() -> lanes.computeIfPresent(projectId, (id, used) -> --used.users == 0 ? null : used));
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

    /**
     * A piece that a statement has looked at.
     *
     * @param records empty if it was not in time
     */
    private record Counted(ScanPlan places, Optional<Row> records, long nanos) {}

    /** One request's way back through the feed. */
    private final class Walk {

        private final UUID projectId;
        private final FacetsRequest request;
        private final Count count;
        private final LongPredicate memory;
        private final long through;
        private final long horizon;
        private final long seed = random.nextLong();
        private final long deadline = System.nanoTime() + TIME.toNanos();

        private @Nullable ScanPlan plan;
        /** The records that the plan is for are before this one. */
        private long before;
        /** Where the plan ends. */
        private long lowest;
        /** The records behind this one are counted. */
        private long from;

        private long looked;
        private int places = FIRST_PLACES;

        Walk(UUID projectId, FacetsRequest request, Timeline timeline, LongPredicate memory, Row bounds) {
            this.projectId = projectId;
            this.request = request;
            this.count = new Count(timeline);
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
                    .map(values -> JsonBody.toBytes(4_096, json -> count.write(extent(), request.top(), values, json)));
        }

        private boolean isComplete() {
            return from <= horizon;
        }

        private Count.Extent extent() {
            return new Count.Extent(through, isComplete() ? 0 : from, isComplete());
        }

        /** Counts a piece; gives whether to go on. */
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

        /** Counts some pieces at a time: the next ones of the plan, each in a statement of its own. */
        private Uni<Boolean> countNext(ScanPlan ahead) {
            List<Uni<Counted>> pieces = new ArrayList<>();
            do {
                pieces.add(count(ahead.takeBack(places)));
            } while (pieces.size() < STATEMENTS && !ahead.isEmpty());
            // Up to the first that ends the count: those behind it would leave a gap.
            return Uni.join()
                    .all(pieces)
                    .andCollectFailures()
                    .map(done -> done.stream().allMatch(piece -> add(ahead, piece)));
        }

        private Uni<Counted> count(ScanPlan piece) {
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
                                                    count.timeline()
                                                            .interval()
                                                            .counted()
                                                            .text())
                                            .bind("seed", seed)
                                            .execute(connection)))
                            .map(rows -> Optional.of(rows.iterator().next()))
                            .onFailure(Facets::wasCancelled)
                            .recoverWithItem(Optional.empty()))
                    .map(row -> new Counted(piece, row, System.nanoTime() - began));
        }

        /** Adds a piece; gives whether to go on behind it. */
        private boolean add(ScanPlan ahead, Counted piece) {
            if (piece.records().isEmpty()) {
                return false;
            }
            count.add(piece.records().get());
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
                    && memory.test(firstMemory(request) + count.bytes());
        }

        private Uni<List<Count.Value>> values() {
            try {
                requireLength(request, count.timeline());
            } catch (ProblemException tooFine) {
                return Uni.createFrom().failure(tooFine);
            }
            List<Long> places = new ArrayList<>();
            List<Integer> fields = new ArrayList<>();
            List<Long> keys = new ArrayList<>();
            List<Integer> counts = new ArrayList<>();
            for (int field = 0; field < Count.FIELDS.size(); field++) {
                for (Tally.Group group : count.top(field, request.top())) {
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
                    .execute(pool)
                    .map(Facets::values));
        }
    }

    private static List<Count.Value> values(RowSet<Row> rows) {
        List<Count.Value> values = new ArrayList<>();
        for (Row row : rows) {
            values.add(new Count.Value(
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
