package dev.annals.feed;

import dev.annals.database.Binds;
import dev.annals.database.DatabaseFailure;
import dev.annals.database.Reads;
import dev.annals.database.Sql;
import dev.annals.http.ProblemException;
import dev.annals.http.ProblemType;
import dev.annals.record.RecordRow;
import dev.annals.record.StoredRecord;
import dev.annals.search.Filter;
import dev.annals.search.Order;
import dev.annals.search.SearchIndex;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import jakarta.enterprise.context.ApplicationScoped;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Reads feeds. A page without filters takes one round trip and one snapshot, in either order. Large records take a second
 * round trip: they are read in the page's order until the page is full, and they never change.
 *
 * <p>A page never skips: sequence ids follow commit order and have no gap, so all records before the last one of a page were
 * visible to the snapshot from which the page was read. With filters, the {@link SearchIndex} first says, from an older
 * snapshot, which ranges of the feed to look at; what it leaves out was already final.
 */
@ApplicationScoped
public class FeedReader {

    private static final Sql READ_FEED = Sql.named("read_feed");
    private static final Sql SCAN_FEED = Sql.named("scan_feed");
    private static final Sql READ_WHOLE_RECORDS = Sql.named("read_whole_records");
    private static final Sql READ_RECORDS = Sql.named("read_records");
    private static final RecordRow.Columns FEED_COLUMNS = new RecordRow.Columns();
    private static final RecordRow.Columns SCAN_COLUMNS = new RecordRow.Columns();

    /**
     * What a statement's result contains for a row that was processed as it arrived, so that not all rows are held at once.
     */
    private static final Boolean TAKEN = true;

    private final Pool pool;
    private final SearchIndex index;

    public FeedReader(@Reads Pool pool, SearchIndex index) {
        this.pool = pool;
        this.index = index;
    }

    /**
     * Reads a page: as many of the requested records as fit into {@link FeedQuery#maxBytes}, but at least one. It takes at
     * most {@link FeedQuery#memory}, which the caller has to reserve.
     *
     * @return fails with a {@code feed-rewound} problem if the cursor no longer matches the feed
     */
    public Uni<FeedPage> read(UUID projectId, FeedQuery query) {
        return DatabaseFailure.retried(Uni.createFrom().deferred(() -> {
            if (query.order() == Order.DESCENDING) {
                return scanBack(projectId, query);
            }
            return query.filter().equals(Filter.NONE) ? readOn(projectId, query) : scanOn(projectId, query);
        }));
    }

    /** Finds a record by its id; null if the project has none with this id. */
    public Uni<@Nullable StoredRecord> find(UUID projectId, UUID id) {
        return DatabaseFailure.retried(READ_RECORDS
                .bind("project_id", projectId)
                .bind("id", new UUID[] {id})
                .execute(pool)
                .map(FeedReader::firstRecord));
    }

    private static @Nullable StoredRecord firstRecord(RowSet<Row> rows) {
        for (Row row : rows) {
            return RecordRow.record(row);
        }
        return null;
    }

    private Uni<FeedPage> readOn(UUID projectId, FeedQuery query) {
        Cursor cursor = query.cursor() == null ? Cursor.START : query.cursor();
        Read read = new Read(query);
        return READ_FEED
                .bind("project_id", projectId)
                .bind("sequence_id", cursor.sequenceId())
                .bind("limit", query.limit() + 1)
                .execute(pool, row -> {
                    read.add(row);
                    return TAKEN;
                })
                .chain(all -> page(projectId, cursor, query.limit(), read));
    }

    /** Puts the records of {@code read_feed.sql} in the order of their places. */
    private Uni<FeedPage> page(UUID projectId, Cursor cursor, int limit, Read read) {
        UUID[] recordIds = read.recordIds;
        long lastSequenceId = read.lastSequenceId;
        long sequenceId = Math.max(cursor.sequenceId(), 1);
        if (lastSequenceId < sequenceId) {
            // The head lies before the cursor: the statement found the last segment, which has none of the places asked
            // for.
            recordIds = new UUID[0];
        }
        if (recordIds.length > 0 && recordIds.length != lastSequenceId - sequenceId + 1) {
            throw new IllegalStateException("the feed of project " + projectId + " has a gap between " + sequenceId
                    + " and " + lastSequenceId + ": " + recordIds.length + " records");
        }
        int first = 0;
        if (cursor.sequenceId() > 0) {
            requireStillThere(cursor, recordIds.length > 0 && cursor.matches(projectId, recordIds[0]));
            first = 1;
            sequenceId++;
        }
        int end = Math.min(recordIds.length, first + limit);
        for (int place = first; place < end; place++, sequenceId++) {
            read.records.place(sequenceId, recordIds[place]);
        }
        boolean more = end < recordIds.length;
        return fetched(projectId, read.records).map(fitting -> {
            Cursor behind = fitting.isEmpty() ? cursor : behind(projectId, fitting.get(fitting.size() - 1));
            return new FeedPage(fitting, more || read.records.isCut() ? behind : null, null, behind);
        });
    }

    /** The records of a page that fit into it, in their order. Large records are not read before this. */
    private Uni<List<StoredRecord>> fetched(UUID projectId, PageRecords records) {
        UUID[] large = records.large();
        if (large.length == 0) {
            return Uni.createFrom().item(records.fitting());
        }
        return READ_WHOLE_RECORDS
                .bind("project_id", projectId)
                .bind("id", large)
                .bind("bytes", (long) records.maxBytes())
                .execute(pool, row -> {
                    records.takeWhole(row);
                    return TAKEN;
                })
                .map(all -> records.fitting());
    }

    private static Cursor behind(UUID projectId, StoredRecord record) {
        return Cursor.behind(projectId, record.sequenceId(), record.record().id());
    }

    private Uni<FeedPage> scanOn(UUID projectId, FeedQuery query) {
        Cursor cursor = query.cursor() == null ? Cursor.START : query.cursor();
        return index.planOn(projectId, cursor.sequenceId(), query.filter(), query.limit())
                .chain(plan -> scan(projectId, cursor.sequenceId(), plan.first(), plan.last(), query)
                        .chain(scan -> {
                            requireStillThere(cursor, scan.firstIs(cursor));
                            return fetched(projectId, scan.records).map(fitting -> {
                                Cursor last = scan.last(fitting, cursor);
                                boolean more = scan.isFull() || last.sequenceId() >= plan.highest();
                                return new FeedPage(fitting, more ? last : null, null, last);
                            });
                        }));
    }

    private Uni<FeedPage> scanBack(UUID projectId, FeedQuery query) {
        Cursor cursor = query.cursor();
        Long before = cursor == null ? null : cursor.sequenceId();
        return scanBack(projectId, before, query).chain(scan -> {
            if (cursor != null) {
                requireStillThere(cursor, scan.firstIs(cursor));
            }
            return fetched(projectId, scan.records).map(fitting -> {
                Cursor last = scan.last(fitting, cursor == null ? Cursor.START : cursor);
                Cursor head = query.head() != null ? query.head() : scan.first(Cursor.START);
                return new FeedPage(fitting, last.sequenceId() > 1 ? last : null, head, head);
            });
        });
    }

    private Uni<Scan> scanBack(UUID projectId, @Nullable Long before, FeedQuery query) {
        if (query.filter().equals(Filter.NONE)) {
            // Every record passes. Their places are known without the index, or the statement finds them from the head.
            Long[] first = {before == null ? null : Math.max(1, before - query.limit())};
            Long[] last = {before};
            return scan(projectId, before, first, last, query);
        }
        return index.planBack(projectId, before, query.filter(), query.limit())
                .chain(plan -> scan(projectId, before, plan.first(), plan.last(), query));
    }

    private Uni<Scan> scan(
            UUID projectId, @Nullable Long sequenceId, @Nullable Long[] first, @Nullable Long[] last, FeedQuery query) {
        Scan scan = new Scan(projectId, query);
        Binds binds = SCAN_FEED
                .bind("project_id", projectId)
                .bind("direction", query.order() == Order.ASCENDING ? 1 : -1)
                .bind("sequence_id", sequenceId)
                .bind("first", first)
                .bind("last", last)
                .bind("limit", query.limit());
        return query.filter()
                .bind(binds)
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

    /** Takes the rows of {@code read_feed.sql}. */
    private static final class Read {

        final PageRecords records;
        UUID[] recordIds = {};
        long lastSequenceId;

        Read(FeedQuery query) {
            this.records = new PageRecords(query.maxBytes(), FEED_COLUMNS);
        }

        void add(Row row) {
            if (!records.take(row) && row.getLong("last_sequence_id") != null) {
                lastSequenceId = row.getLong("last_sequence_id");
                recordIds = row.getArrayOfUUIDs("record_ids");
            }
        }
    }

    /** Takes the rows of one statement: records up to the limit, and the places from which cursors are made. */
    private static final class Scan {

        final PageRecords records;

        private final UUID projectId;
        private final int limit;
        private boolean full;
        private @Nullable Cursor first;
        private @Nullable Cursor last;

        Scan(UUID projectId, FeedQuery query) {
            this.projectId = projectId;
            this.limit = query.limit();
            this.records = new PageRecords(query.maxBytes(), SCAN_COLUMNS);
        }

        void add(Row row) {
            Cursor place = Cursor.behind(projectId, SCAN_COLUMNS.sequenceId(row), SCAN_COLUMNS.recordId(row));
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
                records.place(SCAN_COLUMNS.sequenceId(row), SCAN_COLUMNS.recordId(row));
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
        Cursor last(List<StoredRecord> fitting, Cursor otherwise) {
            if (records.isCut()) {
                return behind(projectId, fitting.get(fitting.size() - 1));
            }
            return last == null ? otherwise : last;
        }

        /** Whether there were more records than the page holds. */
        boolean isFull() {
            return full || records.isCut();
        }
    }
}
