package dev.annals.core.feed;

import dev.annals.access.places.Places;
import dev.annals.core.feed.FeedIndex.ScanPlan;
import dev.annals.core.feed.FeedPage.Searched;
import dev.annals.core.feed.FeedQuery.Order;
import dev.annals.core.query.Filter;
import dev.annals.core.record.RecordEncoder.EncodedRecord;
import dev.annals.core.record.RecordRow;
import dev.annals.core.record.StoredRecord;
import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.ElsewhereException;
import dev.annals.kernel.database.PerDatabase;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.guid.CanonicalGuid;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.memory.Reservation;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.inject.Typed;
import java.io.Serial;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Reads pages from one server.
 *
 * <pre>
 * oldest first, no filter    read_feed.sql    the places of the page, then its records
 * oldest first, filters      scan_feed.sql    the ranges that the {@link FeedIndex} names
 * newest first               scan_feed.sql    the ranges that the index names, or without filters the last places
 * </pre>
 *
 * <p>Each is one statement in one snapshot. {@code read_large_records.sql} then reads messages and metadata over 2 KiB;
 * records never change, so it needs no common snapshot. The index may answer from an older snapshot: what it leaves out was
 * final by then.
 */
public class DatabaseReader implements FeedReader {

    /** The member of a {@code records-expired} problem with the oldest sequence id left. */
    static final String OLDEST = "oldest_sequence_id";

    private static final Sql READ_FEED = Sql.named("core/feed/read_feed");
    private static final Sql SCAN_FEED = Sql.named("core/feed/scan_feed");
    private static final Sql FIND_PLACES = Sql.named("core/feed/find_places");
    private static final Sql FIND_HORIZON = Sql.named("core/feed/find_horizon");
    private static final Sql FIND_PLACEMENT = Sql.named("core/feed/find_placement");
    private static final Sql READ_LARGE_RECORDS = Sql.named("core/feed/read_large_records");
    private static final Sql READ_RECORDS = Sql.named("core/feed/read_records");
    private static final RecordRow.Columns FEED_COLUMNS = new RecordRow.Columns();
    private static final RecordRow.Columns SCAN_COLUMNS = new RecordRow.Columns();

    /** Replaces a row that was handled on arrival, so that the result does not hold all rows at once. */
    private static final Boolean HANDLED = true;

    private final Pool pool;
    private final FeedIndex index;

    public DatabaseReader(Pool pool, FeedIndex index) {
        this.pool = pool;
        this.index = index;
    }

    /** Reads from the primary of the project's database, and goes on in the next one if the project has moved. */
    @ApplicationScoped
    @Typed(Placed.class)
    public static class Placed implements FeedReader {

        private final Places places;
        private final PerDatabase<DatabaseReader> readers;

        Placed(Places places, Databases databases, FeedIndex index) {
            this.places = places;
            this.readers = new PerDatabase<>(
                    databases, database -> new DatabaseReader(database.reads(), index.readBy(database.reads())));
        }

        @Override
        public Uni<FeedPage> read(UUID projectId, FeedQuery query, @Nullable Reservation held) {
            return places.on(projectId, database -> readers.of(database).read(projectId, query, held));
        }

        @Override
        public FeedReader in(Database database) {
            return readers.of(database);
        }

        /** The cursor before the oldest record that has not expired. */
        public Uni<Cursor> oldest(UUID projectId) {
            return places.on(projectId, database -> readers.of(database).oldest(projectId));
        }

        /** Fails with the problem {@code not-found} if the project has no such record. */
        public Uni<StoredRecord> require(UUID projectId, String id) {
            return places.on(projectId, database -> readers.of(database).require(projectId, id));
        }
    }

    /** The server lacks the cursor's record, but may get it: it may be a standby that lags behind. */
    static final class NotReachedException extends RuntimeException {
        @Serial
        private static final long serialVersionUID = 1;

        /** A primary that lacks the record has lost it. */
        final boolean standby;

        NotReachedException(boolean standby, Throwable rewound) {
            super("the server has not reached the cursor", rewound, false, false);
            this.standby = standby;
        }
    }

    /** It reads in one already. */
    @Override
    public FeedReader in(Database database) {
        return this;
    }

    /**
     * {@inheritDoc}
     *
     * <p>If this is a standby that has not reached the cursor, the page is empty, and its cursor is the query's.
     */
    @Override
    public Uni<FeedPage> read(UUID projectId, FeedQuery query, @Nullable Reservation held) {
        return readIfReached(projectId, query, held)
                .onFailure(NotReachedException.class)
                .recoverWithUni(failure -> failure.standby
                        ? Uni.createFrom().item(emptyPage(query))
                        : Uni.createFrom().failure(failure.getCause()));
    }

    /** Fails with {@link NotReachedException} if the server may not have reached the cursor. */
    Uni<FeedPage> readIfReached(UUID projectId, FeedQuery query, @Nullable Reservation held) {
        return DatabaseFailure.retried(Uni.createFrom()
                .deferred(() -> {
                    if (query.order() == Order.DESCENDING) {
                        return scanBack(projectId, query, held);
                    }
                    return query.filter().equals(Filter.NONE)
                            ? readForward(projectId, query, begin(query), held)
                            : scanForward(projectId, query, begin(query), held);
                })
                .onFailure(DatabaseReader::isRewound)
                .recoverWithUni(rewound -> failIfLost(projectId, query, rewound)));
    }

    private static Cursor begin(FeedQuery query) {
        return query.cursor() == null ? Cursor.START : query.cursor();
    }

    private static boolean isRewound(Throwable failure) {
        return failure instanceof ProblemException e && e.problem().type() == ProblemType.FEED_REWOUND;
    }

    /** Decides why the cursor does not match. Only another record at its place proves that the feed was set back. */
    private Uni<FeedPage> failIfLost(UUID projectId, FeedQuery query, Throwable rewound) {
        Cursor cursor = Objects.requireNonNull(query.cursor());
        return FIND_PLACES
                .bind("project_id", new UUID[] {projectId})
                .bind("sequence_id", new Long[] {cursor.sequenceId()})
                .execute(pool)
                .chain(rows -> {
                    Row row = rows.iterator().next();
                    if (!row.getBoolean("here")) {
                        return failElsewhere(projectId);
                    }
                    requireUnexpired(cursor, row.getLong("horizon"));
                    UUID recordId = row.getUUID("record_id");
                    // A match means that the server has reached the cursor since.
                    boolean mayCome = recordId == null || cursor.matches(projectId, recordId, row.getInteger("mark"));
                    return Uni.createFrom()
                            .failure(mayCome ? new NotReachedException(row.getBoolean("standby"), rewound) : rewound);
                });
    }

    private static FeedPage emptyPage(FeedQuery query) {
        Cursor cursor = begin(query);
        if (query.order() == Order.ASCENDING) {
            return new FeedPage(List.of(), null, null, cursor, nothing(query, cursor.sequenceId()), null);
        }
        Cursor head = query.head() == null ? cursor : query.head();
        return new FeedPage(List.of(), cursor, head, head, nothing(query, cursor.sequenceId() - 1), null);
    }

    private static @Nullable Searched nothing(FeedQuery query, long place) {
        return query.filter().equals(Filter.NONE) ? null : new Searched(place, place, 0);
    }

    private Uni<Cursor> oldest(UUID projectId) {
        return DatabaseFailure.retried(FIND_HORIZON
                .bind("project_id", projectId)
                .execute(pool)
                .map(rows -> {
                    for (Row row : rows) {
                        return Cursor.behind(
                                projectId,
                                row.getLong("sequence_id"),
                                row.getUUID("record_id"),
                                row.getInteger("mark"));
                    }
                    return Cursor.START;
                }));
    }

    private Uni<StoredRecord> require(UUID projectId, String id) {
        return DatabaseFailure.retried(Uni.createFrom()
                .deferred(() -> READ_RECORDS
                        .bind("project_id", projectId)
                        .bind("id", new UUID[] {id(id)})
                        .execute(pool)
                        .map(DatabaseReader::onlyRecord)));
    }

    /**
     * Parses the id of a record in a path.
     *
     * @throws ProblemException {@code not-found} if it is no id
     */
    public static UUID id(String id) {
        UUID parsed = CanonicalGuid.parse(id);
        if (parsed == null) {
            throw noSuchRecord();
        }
        return parsed;
    }

    static ProblemException noSuchRecord() {
        return new ProblemException(ProblemType.NOT_FOUND, "The project of this token has no record with this id.");
    }

    private static StoredRecord onlyRecord(RowSet<Row> rows) {
        for (Row row : rows) {
            return RecordRow.record(row);
        }
        throw noSuchRecord();
    }

    private Uni<FeedPage> readForward(UUID projectId, FeedQuery query, Cursor cursor, @Nullable Reservation held) {
        PlacesOfPage read = new PlacesOfPage(projectId, cursor, query, held);
        return READ_FEED
                .bind("project_id", projectId)
                .bind("sequence_id", cursor.sequenceId())
                .bind("limit", query.limit() + 1)
                .execute(pool, row -> {
                    read.add(row);
                    return HANDLED;
                })
                .chain(all -> {
                    if (read.isElsewhere()) {
                        return failElsewhere(projectId);
                    }
                    if (query.cursor() == null && read.isExpired()) {
                        return readForward(projectId, query, new Cursor(read.horizon, null), held);
                    }
                    read.check();
                    return complete(projectId, read.records).map(read::page);
                });
    }

    private Uni<FeedPage> scanForward(UUID projectId, FeedQuery query, Cursor cursor, @Nullable Reservation held) {
        return index.planForward(projectId, cursor.sequenceId(), query.filter(), query.limit())
                .chain(plan -> scan(projectId, cursor.sequenceId(), plan, query, held)
                        .chain(scan -> {
                            if (query.cursor() == null && scan.horizon > cursor.sequenceId()) {
                                return scanForward(projectId, query, new Cursor(scan.horizon, null), held);
                            }
                            scan.check(cursor);
                            return complete(projectId, scan.records).map(fitting -> {
                                Cursor last = scan.last(fitting, cursor);
                                boolean more = scan.isFull() || last.sequenceId() >= plan.highest();
                                return new FeedPage(
                                        fitting,
                                        more ? last : null,
                                        null,
                                        last,
                                        scan.searched(cursor.sequenceId(), last.sequenceId()),
                                        null);
                            });
                        }));
    }

    private Uni<FeedPage> scanBack(UUID projectId, FeedQuery query, @Nullable Reservation held) {
        Cursor cursor = query.cursor();
        return scanBefore(projectId, cursor == null ? null : cursor.sequenceId(), query, held)
                .chain(scan -> {
                    if (cursor != null) {
                        scan.check(cursor);
                    }
                    return complete(projectId, scan.records).map(fitting -> {
                        Cursor last = scan.last(fitting, begin(query));
                        Cursor head = query.head() != null ? query.head() : scan.first(Cursor.START);
                        boolean more = last.sequenceId() > scan.horizon + 1;
                        Searched searched = scan.searched(
                                more ? last.sequenceId() - 1 : 0,
                                cursor == null ? scan.first(Cursor.START).sequenceId() : cursor.sequenceId() - 1);
                        return new FeedPage(fitting, more ? last : null, head, head, searched, null);
                    });
                });
    }

    private Uni<Scan> scanBefore(UUID projectId, @Nullable Long before, FeedQuery query, @Nullable Reservation held) {
        if (query.filter().equals(Filter.NONE)) {
            // Every record passes, so no index is needed. A null begins at the head.
            Long[] first = {before == null ? null : Math.max(1, before - query.limit())};
            Long[] last = {before};
            return scan(projectId, before, first, last, new Scan(projectId, query, held, null));
        }
        return index.planBack(projectId, before, query.filter(), query.limit())
                .chain(plan -> scan(projectId, before, plan, query, held));
    }

    private Uni<Scan> scan(
            UUID projectId, @Nullable Long sequenceId, ScanPlan plan, FeedQuery query, @Nullable Reservation held) {
        Scan scan = new Scan(projectId, query, held, plan.indexedThrough());
        return scan(projectId, sequenceId, plan.first(), plan.last(), scan);
    }

    private Uni<Scan> scan(
            UUID projectId, @Nullable Long sequenceId, @Nullable Long[] first, @Nullable Long[] last, Scan scan) {
        FeedQuery query = scan.query;
        return query.filter()
                .of(SCAN_FEED)
                .bind("project_id", projectId)
                .bind("direction", query.order() == Order.ASCENDING ? 1 : -1)
                .bind("sequence_id", sequenceId)
                .bind("first", first)
                .bind("last", last)
                .bind("limit", query.limit())
                .execute(pool, row -> {
                    scan.add(row);
                    return HANDLED;
                })
                .chain(all -> scan.isElsewhere()
                        ? this.<Void>failElsewhere(projectId)
                        : scan.isEmpty()
                                ? requireHere(projectId)
                                : Uni.createFrom().voidItem())
                .replaceWith(scan);
    }

    /** Fails with {@link ElsewhereException} if this database does not have the project. */
    private Uni<Void> requireHere(UUID projectId) {
        return FIND_PLACEMENT.bind("project_id", projectId).execute(pool).map(rows -> {
            Row row = rows.size() == 0 ? null : rows.iterator().next();
            String placement = row == null ? null : row.getString("placement");
            if (!"here".equals(placement) && !"sealed".equals(placement)) {
                throw new ElsewhereException(projectId, placement, row == null ? null : row.getString("moved_to"));
            }
            return null;
        });
    }

    private <T> Uni<T> failElsewhere(UUID projectId) {
        return requireHere(projectId)
                .chain(arrivedSince -> Uni.createFrom().failure(new ElsewhereException(projectId, "arriving", null)));
    }

    private Uni<List<EncodedRecord>> complete(UUID projectId, FeedPage.Builder records) {
        UUID[] missing = records.missing();
        if (missing.length == 0) {
            return Uni.createFrom().item(records.build());
        }
        return READ_LARGE_RECORDS
                .bind("project_id", projectId)
                .bind("id", missing)
                .bind("bytes", (long) records.reserveAll())
                .execute(pool, row -> {
                    records.addLarge(row);
                    return HANDLED;
                })
                .map(all -> records.build());
    }

    private static void requireUnexpired(Cursor cursor, long horizon) {
        if (cursor.sequenceId() < horizon) {
            throw new ProblemException(Problem.of(
                            ProblemType.RECORDS_EXPIRED,
                            "Records behind the cursor " + cursor + " have expired: the project keeps none up to the"
                                    + " sequence id " + horizon
                                    + " any more. Note that they are missing, then continue from"
                                    + " the cursor " + horizon + ".")
                    .with(OLDEST, horizon + 1));
        }
    }

    private static void requireStillThere(Cursor cursor, boolean there) {
        if (cursor.sequenceId() > 0 && !there) {
            throw new ProblemException(
                    ProblemType.FEED_REWOUND,
                    "The feed no longer has the record that the cursor " + cursor
                            + " points at: the database was restored, or a failover lost the end of the feed. Records that"
                            + " were read before may be gone, and their sequence ids issued again. Compare what you have"
                            + " with the feed, then continue from an earlier cursor or from the start.");
        }
    }

    /** The first row of {@code read_feed.sql} has the places of the page, each other one a record. */
    private static final class PlacesOfPage {

        /** The index in {@code numbers} of the first segment's start. */
        private static final int SEGMENT_STARTS = 3;

        final FeedPage.Builder records;
        /** Records have expired up to this sequence id. */
        long horizon;

        private final UUID projectId;
        private final Cursor cursor;
        private final FeedQuery query;
        private boolean more;
        private long redactions;
        private boolean placed;
        private UUID[] recordIds = {};
        private Integer[] marks = {};
        private @Nullable Long[] numbers = {};
        private int segment;
        private long lastSequenceId;

        PlacesOfPage(UUID projectId, Cursor cursor, FeedQuery query, @Nullable Reservation held) {
            this.projectId = projectId;
            this.cursor = cursor;
            this.query = query;
            this.records = new FeedPage.Builder(query, held, FEED_COLUMNS);
        }

        void add(Row row) {
            if (placed) {
                records.add(row);
                return;
            }
            placed = true;
            numbers = row.getArrayOfLongs("numbers");
            redactions = Objects.requireNonNull(numbers[1]);
            horizon = Objects.requireNonNull(numbers[2]);
            Long last = numbers[0];
            // If the head lies before the cursor, the statement returns the last segment, outside the page.
            boolean any = last != null && last >= firstSequenceId() && !isExpired();
            marks = any ? row.getArrayOfIntegers("marks") : new Integer[0];
            recordIds = any ? row.getArrayOfUUIDs("record_ids") : new UUID[0];
            lastSequenceId = last == null ? 0 : last;
            addPlaces();
        }

        private void addPlaces() {
            int first = cursor.sequenceId() > 0 ? 1 : 0;
            int end = Math.min(recordIds.length, first + query.limit());
            for (int place = first; place < end; place++) {
                records.addPlace(firstSequenceId() + place, recordIds[place], mark(place));
            }
            more = end < recordIds.length;
        }

        /** Ask for places in ascending order. */
        private int mark(int place) {
            if (numbers.length == SEGMENT_STARTS) {
                return marks[place];
            }
            while (segment + 1 < marks.length && segmentStart(segment + 1) <= firstSequenceId() + place) {
                segment++;
            }
            return marks[segment];
        }

        private long segmentStart(int of) {
            return Objects.requireNonNull(numbers[SEGMENT_STARTS + of]);
        }

        /** The cursor's own, unless the cursor is the start. */
        private long firstSequenceId() {
            return Math.max(cursor.sequenceId(), 1);
        }

        boolean isElsewhere() {
            return redactions < 0;
        }

        boolean isExpired() {
            return cursor.sequenceId() < horizon;
        }

        /** Requires that the feed has no gap, and that the cursor's record stands at its place. */
        void check() {
            requireUnexpired(cursor, horizon);
            if (recordIds.length > 0 && recordIds.length != lastSequenceId - firstSequenceId() + 1) {
                throw new IllegalStateException("the feed of project " + projectId + " has a gap between "
                        + firstSequenceId() + " and " + lastSequenceId + ": " + recordIds.length + " records");
            }
            requireStillThere(cursor, recordIds.length > 0 && cursor.matches(projectId, recordIds[0], marks[0]));
        }

        FeedPage page(List<EncodedRecord> fitting) {
            Cursor begin = begin();
            Cursor last = fitting.isEmpty() ? begin : Cursor.behind(projectId, fitting.get(fitting.size() - 1));
            return new FeedPage(
                    fitting,
                    more || records.isCut() ? last : null,
                    null,
                    last,
                    null,
                    new FeedPage.Snapshot(begin, redactions));
        }

        /** The query's cursor; otherwise the start or the horizon, with the check value there. */
        private Cursor begin() {
            if (query.cursor() != null) {
                return query.cursor();
            }
            return cursor.sequenceId() == 0
                    ? cursor
                    : Cursor.behind(projectId, cursor.sequenceId(), recordIds[0], marks[0]);
        }
    }

    /** The rows of {@code scan_feed.sql}: records, and places for cursors. */
    private static final class Scan {

        final FeedPage.Builder records;

        private final UUID projectId;
        private final FeedQuery query;
        private final @Nullable Long indexedThrough;
        long horizon;

        private boolean full;
        private @Nullable Cursor first;
        private @Nullable Cursor last;

        /** @param indexedThrough null without filters */
        Scan(UUID projectId, FeedQuery query, @Nullable Reservation held, @Nullable Long indexedThrough) {
            this.projectId = projectId;
            this.query = query;
            this.indexedThrough = indexedThrough;
            this.records = new FeedPage.Builder(query, held, SCAN_COLUMNS);
        }

        void add(Row row) {
            long sequenceId = SCAN_COLUMNS.sequenceId(row);
            UUID recordId = SCAN_COLUMNS.recordId(row);
            int mark = SCAN_COLUMNS.mark(row);
            Cursor place = Cursor.behind(projectId, sequenceId, recordId, mark);
            horizon = row.getLong("horizon");
            if (first == null) {
                first = place;
            }
            if (full) {
                return;
            }
            if (SCAN_COLUMNS.hasRecord(row)) {
                if (records.places() == query.limit()) {
                    full = true;
                    return;
                }
                records.addPlace(sequenceId, recordId, mark);
                records.add(row);
            }
            last = place;
        }

        boolean isElsewhere() {
            return horizon < 0;
        }

        /** No row says whether this database has the project. */
        boolean isEmpty() {
            return first == null;
        }

        void check(Cursor cursor) {
            requireUnexpired(cursor, horizon);
            requireStillThere(
                    cursor,
                    first != null
                            && first.sequenceId() == cursor.sequenceId()
                            && (cursor.check() == null || cursor.equals(first)));
        }

        Cursor first(Cursor otherwise) {
            return first == null ? otherwise : first;
        }

        /** The last record if some did not fit, otherwise the last place scanned. */
        Cursor last(List<EncodedRecord> fitting, Cursor otherwise) {
            if (records.isCut()) {
                return Cursor.behind(projectId, fitting.get(fitting.size() - 1));
            }
            return last == null ? otherwise : last;
        }

        boolean isFull() {
            return full || records.isCut();
        }

        @Nullable
        Searched searched(long from, long through) {
            return indexedThrough == null ? null : new Searched(from, through, indexedThrough);
        }
    }
}
