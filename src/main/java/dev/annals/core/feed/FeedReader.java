package dev.annals.core.feed;

import dev.annals.core.query.Filter;
import dev.annals.core.query.Order;
import dev.annals.core.record.RecordEncoder;
import dev.annals.core.record.RecordEncoder.EncodedRecord;
import dev.annals.core.record.RecordRow;
import dev.annals.core.record.StoredRecord;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Reads;
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
import jakarta.inject.Inject;
import java.io.Serial;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Reads feeds. The end of a feed comes from memory where the database proves it ({@link RecentRecords}). Any other page
 * without filters takes one round trip and one snapshot, in either order. Large records take a second
 * round trip: they are read in the page's order until the page is full, and they never change.
 *
 * <p>A page never skips: sequence ids follow commit order and have no gap, so all records before the last one of a page were
 * visible to the snapshot from which the page was read. With filters, the {@link FeedIndex} first says, from an older
 * snapshot, which ranges of the feed to look at; what it leaves out was already final.
 */
@ApplicationScoped
public class FeedReader {

    /** The member of a problem that says which sequence id the oldest record has that is left. */
    static final String OLDEST = "oldest_sequence_id";

    private static final Sql READ_FEED = Sql.named("core/feed/read_feed");
    private static final Sql SCAN_FEED = Sql.named("core/feed/scan_feed");
    private static final Sql PROVE_PLACES = Sql.named("core/feed/prove_places");
    private static final Sql FIND_HORIZON = Sql.named("core/feed/find_horizon");
    private static final Sql READ_WHOLE_RECORDS = Sql.named("core/feed/read_whole_records");
    private static final Sql READ_RECORDS = Sql.named("core/feed/read_records");
    private static final RecordRow.Columns FEED_COLUMNS = new RecordRow.Columns();
    private static final RecordRow.Columns SCAN_COLUMNS = new RecordRow.Columns();

    /**
     * What a statement's result contains for a row that was processed as it arrived, so that not all rows are held at once.
     */
    private static final Boolean TAKEN = true;

    private final Pool pool;
    private final FeedIndex index;
    private final @Nullable RecentRecords recent;

    private final @Nullable StandbyReads standbys;
    private final boolean inPlaceOfPrimary;

    /** The standby has not come as far as the cursor, or the feed was set back: the primary knows which. */
    static final class StandbyBehindException extends RuntimeException {
        @Serial
        private static final long serialVersionUID = 1;

        StandbyBehindException() {
            super("the standby has not come as far as the cursor", null, false, false);
        }
    }

    /** Reads everything from the database. */
    public FeedReader(Pool pool, FeedIndex index) {
        this(pool, index, null, null, false);
    }

    /** Reads from a standby in place of the primary: see {@link StandbyBehindException}. */
    static FeedReader ofStandby(Pool pool, FeedIndex index) {
        return new FeedReader(pool, index, null, null, true);
    }

    @Inject
    FeedReader(@Reads Pool pool, FeedIndex index, @Nullable RecentRecords recent, @Nullable StandbyReads standbys) {
        this(pool, index, recent, standbys, false);
    }

    private FeedReader(
            Pool pool,
            FeedIndex index,
            @Nullable RecentRecords recent,
            @Nullable StandbyReads standbys,
            boolean inPlaceOfPrimary) {
        this.inPlaceOfPrimary = inPlaceOfPrimary;
        this.pool = pool;
        this.index = index;
        this.recent = recent;
        this.standbys = standbys;
    }

    /** Reads a page of JSON records; see the last {@code read}. */
    public Uni<FeedPage> read(UUID projectId, FeedQuery query) {
        return read(projectId, query, RecordEncoder.Format.JSON);
    }

    /**
     * The same within memory that grows with the page: most pages are small. Where there is no more of it, the page becomes
     * shorter.
     *
     * @param held {@link FeedQuery#firstMemory} or more
     */
    public Uni<FeedPage> read(UUID projectId, FeedQuery query, Reservation held) {
        return read(projectId, query, held, RecordEncoder.Format.JSON);
    }

    /**
     * Reads a page: as many of the requested records as fit into {@link FeedQuery#maxBytes}, but at least one. It takes at
     * most {@link FeedQuery#memory}, which the caller has to reserve.
     *
     * @param format how its records are encoded
     * @return fails with a {@code feed-rewound} problem if the cursor no longer matches the feed, and with {@code records-expired}
     *     if records that it has not seen are gone
     */
    public Uni<FeedPage> read(UUID projectId, FeedQuery query, RecordEncoder.Format format) {
        return read(projectId, query, null, format);
    }

    /** The same from the primary, for what goes together with something else that is read there. */
    public Uni<FeedPage> readFromPrimary(UUID projectId, FeedQuery query, RecordEncoder.Format format) {
        return readHere(projectId, query, null, format);
    }

    private Uni<FeedPage> read(
            UUID projectId, FeedQuery query, @Nullable Reservation held, RecordEncoder.Format format) {
        if (standbys == null) {
            return readHere(projectId, query, held, format);
        }
        return standbys.read(
                projectId,
                query.farthest(),
                reader -> reader.readHere(projectId, query, held, format),
                () -> readHere(projectId, query, held, format));
    }

    private Uni<FeedPage> readHere(
            UUID projectId, FeedQuery query, @Nullable Reservation held, RecordEncoder.Format format) {
        return DatabaseFailure.retried(Uni.createFrom()
                .deferred(() -> {
                    if (query.order() == Order.DESCENDING) {
                        return scanBack(projectId, query, held, format);
                    }
                    return query.filter().equals(Filter.NONE)
                            ? readOn(projectId, query, held, format)
                            : scanOn(projectId, query, begin(query), held, format);
                })
                .onFailure(FeedReader::isRewound)
                .recoverWithUni(rewound -> unlessBehind(projectId, query, rewound)));
    }

    /** Where a page begins, unless records have expired there. */
    private static Cursor begin(FeedQuery query) {
        return query.cursor() == null ? Cursor.START : query.cursor();
    }

    private static boolean isRewound(Throwable failure) {
        return failure instanceof ProblemException e && e.problem().type() == ProblemType.FEED_REWOUND;
    }

    /**
     * The record may have expired. Or a standby may not have come as far as the cursor, which is from another server: then the page is
     * empty, and the same cursor leads on. Only another record at the cursor's place says that the feed was set back.
     */
    private Uni<FeedPage> unlessBehind(UUID projectId, FeedQuery query, Throwable rewound) {
        Cursor cursor = Objects.requireNonNull(query.cursor());
        return PROVE_PLACES
                .bind("project_id", new UUID[] {projectId})
                .bind("sequence_id", new Long[] {cursor.sequenceId()})
                .execute(pool)
                .chain(rows -> {
                    Row row = rows.iterator().next();
                    requireUnexpired(cursor, row.getLong("horizon"));
                    UUID recordId = row.getUUID("record_id");
                    // It may have caught up since.
                    boolean mayCome = recordId == null || cursor.matches(projectId, recordId, row.getInteger("mark"));
                    if (inPlaceOfPrimary && mayCome) {
                        return Uni.createFrom().failure(new StandbyBehindException());
                    }
                    return row.getBoolean("standby") && mayCome
                            ? Uni.createFrom().item(emptyPage(query, cursor))
                            : Uni.createFrom().failure(rewound);
                });
    }

    /** Directly before the oldest record that has not expired. */
    public Uni<Cursor> oldest(UUID projectId) {
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

    private static FeedPage emptyPage(FeedQuery query, Cursor cursor) {
        if (query.order() == Order.ASCENDING) {
            return new FeedPage(List.of(), null, null, cursor);
        }
        Cursor head = query.head() == null ? cursor : query.head();
        return new FeedPage(List.of(), cursor, head, head);
    }

    /** Finds a record by its id; null if the project has none with this id. */
    public Uni<@Nullable StoredRecord> find(UUID projectId, UUID id) {
        return DatabaseFailure.retried(READ_RECORDS
                .bind("project_id", projectId)
                .bind("id", new UUID[] {id})
                .execute(pool)
                .map(FeedReader::firstRecord));
    }

    /**
     * Finds a record by the text of its id.
     *
     * @return fails with the problem {@code not-found} if the project has no such record
     */
    public Uni<StoredRecord> require(UUID projectId, String id) {
        return Uni.createFrom()
                .deferred(() -> find(projectId, id(id)))
                .onItem()
                .ifNull()
                .failWith(FeedReader::noSuchRecord);
    }

    /**
     * The id of a record, as a path has it.
     *
     * @throws ProblemException {@code not-found} if it is none
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

    private static @Nullable StoredRecord firstRecord(RowSet<Row> rows) {
        for (Row row : rows) {
            return RecordRow.record(row);
        }
        return null;
    }

    private Uni<FeedPage> readOn(
            UUID projectId, FeedQuery query, @Nullable Reservation held, RecordEncoder.Format format) {
        if (recent == null || format != RecordEncoder.Format.JSON) {
            return readFeed(projectId, query, begin(query), held, format).map(Fed::page);
        }
        return recent.page(projectId, query).chain(page -> {
            if (page != null) {
                // Its records are shared, but not the answer that they go into.
                if (held == null || held.tryGrowTo(page.answerAtMost())) {
                    return Uni.createFrom().item(page);
                }
                int bytes = FeedQuery.bytesWithin(held.bytes());
                return readOn(projectId, query.atMost(bytes), held, format);
            }
            PlaceProofs.History history = recent.history();
            return readFeed(projectId, query, begin(query), held, format)
                    .invoke(read ->
                            recent.keep(projectId, query.from(read.behind), read.page, read.redactions, history))
                    .map(Fed::page);
        });
    }

    /**
     * A page that was read from the database.
     *
     * @param behind where it begins
     * @param redactions how many the project had seen by then
     */
    private record Fed(FeedPage page, Cursor behind, long redactions) {}

    private Uni<Fed> readFeed(
            UUID projectId, FeedQuery query, Cursor cursor, @Nullable Reservation held, RecordEncoder.Format format) {
        Read read = new Read(projectId, cursor, query, held, format);
        return READ_FEED
                .bind("project_id", projectId)
                .bind("sequence_id", cursor.sequenceId())
                .bind("limit", query.limit() + 1)
                .execute(pool, row -> {
                    read.add(row);
                    return TAKEN;
                })
                .chain(all -> {
                    if (query.cursor() == null && read.isExpired()) {
                        return readFeed(projectId, query, new Cursor(read.horizon, null), held, format);
                    }
                    read.check();
                    return fetched(projectId, read.records).map(fitting -> {
                        Cursor behind = query.cursor() == null ? read.cursor() : query.cursor();
                        Cursor last =
                                fitting.isEmpty() ? behind : Cursor.behind(projectId, fitting.get(fitting.size() - 1));
                        boolean more = read.more || read.records.isCut();
                        return new Fed(new FeedPage(fitting, more ? last : null, null, last), behind, read.redactions);
                    });
                });
    }

    /** The records of a page that fit into it, in their order. Large records are not read before this. */
    private Uni<List<EncodedRecord>> fetched(UUID projectId, PageRecords records) {
        UUID[] large = records.large();
        if (large.length == 0) {
            return Uni.createFrom().item(records.fitting());
        }
        return READ_WHOLE_RECORDS
                .bind("project_id", projectId)
                .bind("id", large)
                .bind("bytes", (long) records.reserve())
                .execute(pool, row -> {
                    records.takeWhole(row);
                    return TAKEN;
                })
                .map(all -> records.fitting());
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

    private Uni<FeedPage> scanOn(
            UUID projectId, FeedQuery query, Cursor cursor, @Nullable Reservation held, RecordEncoder.Format format) {
        return index.planOn(projectId, cursor.sequenceId(), query.filter(), query.limit())
                .chain(plan -> scan(projectId, cursor.sequenceId(), plan.first(), plan.last(), query, held, format)
                        .chain(scan -> {
                            if (query.cursor() == null && scan.horizon > cursor.sequenceId()) {
                                return scanOn(projectId, query, new Cursor(scan.horizon, null), held, format);
                            }
                            requireUnexpired(cursor, scan.horizon);
                            requireStillThere(cursor, scan.firstIs(cursor));
                            return fetched(projectId, scan.records).map(fitting -> {
                                Cursor last = scan.last(fitting, cursor);
                                boolean more = scan.isFull() || last.sequenceId() >= plan.highest();
                                return new FeedPage(fitting, more ? last : null, null, last);
                            });
                        }));
    }

    private Uni<FeedPage> scanBack(
            UUID projectId, FeedQuery query, @Nullable Reservation held, RecordEncoder.Format format) {
        Cursor cursor = query.cursor();
        Long before = cursor == null ? null : cursor.sequenceId();
        return scanBack(projectId, before, query, held, format).chain(scan -> {
            if (cursor != null) {
                requireUnexpired(cursor, scan.horizon);
                requireStillThere(cursor, scan.firstIs(cursor));
            }
            return fetched(projectId, scan.records).map(fitting -> {
                Cursor last = scan.last(fitting, cursor == null ? Cursor.START : cursor);
                Cursor head = query.head() != null ? query.head() : scan.first(Cursor.START);
                return new FeedPage(fitting, last.sequenceId() > scan.horizon + 1 ? last : null, head, head);
            });
        });
    }

    private Uni<Scan> scanBack(
            UUID projectId,
            @Nullable Long before,
            FeedQuery query,
            @Nullable Reservation held,
            RecordEncoder.Format format) {
        if (query.filter().equals(Filter.NONE)) {
            // Every record passes. Their places are known without the index, or the statement finds them from the head.
            Long[] first = {before == null ? null : Math.max(1, before - query.limit())};
            Long[] last = {before};
            return scan(projectId, before, first, last, query, held, format);
        }
        return index.planBack(projectId, before, query.filter(), query.limit())
                .chain(plan -> scan(projectId, before, plan.first(), plan.last(), query, held, format));
    }

    private Uni<Scan> scan(
            UUID projectId,
            @Nullable Long sequenceId,
            @Nullable Long[] first,
            @Nullable Long[] last,
            FeedQuery query,
            @Nullable Reservation held,
            RecordEncoder.Format format) {
        Scan scan = new Scan(projectId, query, held, format);
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
                    return TAKEN;
                })
                .map(all -> scan);
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

    /** Takes the rows of {@code read_feed.sql}: first the places, then the records that stand there. */
    private static final class Read {

        /** From where on {@code numbers} has the places at which the segments begin. */
        private static final int SEGMENT_STARTS = 3;

        final PageRecords records;
        /** Whether there are records behind the page's last place. */
        boolean more;
        /** How many redactions the project had seen. */
        long redactions;
        /** Up to where its records had expired. */
        long horizon;

        private final UUID projectId;
        private final Cursor cursor;
        private final int limit;
        private boolean placed;
        private UUID[] recordIds = {};
        private Integer[] marks = {};
        /** As the statement has them. */
        private @Nullable Long[] numbers = {};

        private int segment;
        private long lastSequenceId;

        Read(UUID projectId, Cursor cursor, FeedQuery query, @Nullable Reservation held, RecordEncoder.Format format) {
            this.projectId = projectId;
            this.cursor = cursor;
            this.limit = query.limit();
            this.records = new PageRecords(query, held, format, FEED_COLUMNS);
        }

        void add(Row row) {
            if (placed) {
                records.take(row);
                return;
            }
            placed = true;
            numbers = row.getArrayOfLongs("numbers");
            redactions = Objects.requireNonNull(numbers[1]);
            horizon = Objects.requireNonNull(numbers[2]);
            Long last = numbers[0];
            // Where the head lies before the cursor, the statement found the last segment, which has none of the places
            // asked for.
            boolean any = last != null && last >= firstSequenceId() && !isExpired();
            marks = any ? row.getArrayOfIntegers("marks") : new Integer[0];
            place(any ? row.getArrayOfUUIDs("record_ids") : new UUID[0], last == null ? 0 : last);
        }

        private void place(UUID[] found, long last) {
            recordIds = found;
            lastSequenceId = last;
            int first = cursor.sequenceId() > 0 ? 1 : 0;
            int end = Math.min(recordIds.length, first + limit);
            for (int place = first; place < end; place++) {
                records.place(firstSequenceId() + place, recordIds[place], mark(place));
            }
            more = end < recordIds.length;
        }

        /** The mark of a place, which is not before the one asked for last. */
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

        /** The sequence id of the first place asked for: that of the cursor, unless it is the start. */
        private long firstSequenceId() {
            return Math.max(cursor.sequenceId(), 1);
        }

        /** Whether records behind the cursor are gone. */
        boolean isExpired() {
            return cursor.sequenceId() < horizon;
        }

        /** Where the page begins: the cursor, with the check value of what stands there. */
        Cursor cursor() {
            return cursor.sequenceId() == 0
                    ? cursor
                    : Cursor.behind(projectId, cursor.sequenceId(), recordIds[0], marks[0]);
        }

        /** Makes sure that the places are what the cursor promises. */
        void check() {
            requireUnexpired(cursor, horizon);
            if (recordIds.length > 0 && recordIds.length != lastSequenceId - firstSequenceId() + 1) {
                throw new IllegalStateException("the feed of project " + projectId + " has a gap between "
                        + firstSequenceId() + " and " + lastSequenceId + ": " + recordIds.length + " records");
            }
            requireStillThere(cursor, recordIds.length > 0 && cursor.matches(projectId, recordIds[0], marks[0]));
        }
    }

    /** Takes the rows of one statement: records up to the limit, and the places from which cursors are made. */
    private static final class Scan {

        final PageRecords records;

        private final UUID projectId;
        private final int limit;
        /** Up to where records had expired. */
        long horizon;

        private boolean full;
        private @Nullable Cursor first;
        private @Nullable Cursor last;

        Scan(UUID projectId, FeedQuery query, @Nullable Reservation held, RecordEncoder.Format format) {
            this.projectId = projectId;
            this.limit = query.limit();
            this.records = new PageRecords(query, held, format, SCAN_COLUMNS);
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
                if (records.places() == limit) {
                    full = true;
                    return;
                }
                records.place(sequenceId, recordId, mark);
                records.take(row);
            }
            last = place;
        }

        boolean firstIs(Cursor cursor) {
            return first != null
                    && first.sequenceId() == cursor.sequenceId()
                    && (cursor.check() == null || cursor.equals(first));
        }

        Cursor first(Cursor otherwise) {
            return first == null ? otherwise : first;
        }

        /** Where the page ends; if not all records fit, that is after the last one that does. */
        Cursor last(List<EncodedRecord> fitting, Cursor otherwise) {
            if (records.isCut()) {
                return Cursor.behind(projectId, fitting.get(fitting.size() - 1));
            }
            return last == null ? otherwise : last;
        }

        /** Whether there were more records than the page holds. */
        boolean isFull() {
            return full || records.isCut();
        }
    }
}
