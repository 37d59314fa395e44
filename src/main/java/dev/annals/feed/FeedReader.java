package dev.annals.feed;

import dev.annals.Sql;
import dev.annals.database.DatabaseFailure;
import dev.annals.feed.FeedQuery.Filter;
import dev.annals.feed.FeedQuery.Order;
import dev.annals.problem.ProblemException;
import dev.annals.problem.ProblemType;
import dev.annals.record.RecordRow;
import dev.annals.record.StoredRecord;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import io.vertx.mutiny.sqlclient.Tuple;
import jakarta.enterprise.context.ApplicationScoped;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Reads feeds, a page without filters in one round trip and from one snapshot.
 *
 * <p>A page never skips: sequence ids follow commit order and have no gap, so all records before the last one of a page
 * were visible to the snapshot that the page was read from. With filters the {@link SearchIndex} says first, from an older
 * snapshot, which ranges of the feed to look at; what it leaves out was final by then.
 */
@ApplicationScoped
public class FeedReader {

    private static final String READ_FEED = Sql.named("read_feed");
    private static final String SCAN_FEED = Sql.named("scan_feed");
    private static final String SCAN_FEED_BACK = Sql.named("scan_feed_back");
    private static final String READ_RECORDS = Sql.named("read_records");

    private final Pool pool;
    private final SearchIndex index;

    FeedReader(Pool pool, SearchIndex index) {
        this.pool = pool;
        this.index = index;
    }

    /**
     * Reads a page.
     *
     * @return fails with a {@code feed-rewound} problem where the cursor no longer matches the feed
     */
    public Uni<FeedPage> read(UUID projectId, FeedQuery query) {
        Uni<FeedPage> page;
        if (query.order() == Order.DESCENDING) {
            page = scanBack(projectId, query);
        } else {
            page = query.filter().equals(Filter.NONE) ? readOn(projectId, query) : scanOn(projectId, query);
        }
        return DatabaseFailure.retried(page);
    }

    /** Finds a record by its id; null where the project has none such. */
    public Uni<@Nullable StoredRecord> find(UUID projectId, UUID id) {
        return DatabaseFailure.retried(pool.preparedQuery(READ_RECORDS)
                .execute(Tuple.of(projectId, new UUID[] {id}))
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
        return pool.preparedQuery(READ_FEED)
                .execute(Tuple.of(projectId, cursor.sequenceId(), query.limit() + 1))
                .map(rows -> page(projectId, cursor, query.limit(), rows));
    }

    /** Puts the records of {@code read_feed.sql} in the order of their places. */
    private static FeedPage page(UUID projectId, Cursor cursor, int limit, RowSet<Row> rows) {
        Map<UUID, Row> rowById = new HashMap<>(rows.size() * 2);
        UUID[] recordIds = {};
        long lastSequenceId = 0;
        for (Row row : rows) {
            if (RecordRow.hasRecord(row)) {
                rowById.put(row.getUUID(2), row);
            } else if (row.getLong(0) != null) {
                lastSequenceId = row.getLong(0);
                recordIds = row.getArrayOfUUIDs(1);
            }
        }
        long sequenceId = Math.max(cursor.sequenceId(), 1);
        if (lastSequenceId < sequenceId) {
            // The head lies before the cursor: the statement found the last segment, which holds none of its places.
            recordIds = new UUID[0];
        }
        if (recordIds.length > 0 && recordIds.length != lastSequenceId - sequenceId + 1) {
            throw new IllegalStateException("the feed of project " + projectId + " has a gap between " + sequenceId
                    + " and " + lastSequenceId + ": " + recordIds.length + " records");
        }
        int place = 0;
        if (cursor.sequenceId() > 0) {
            requireStillThere(cursor, recordIds.length > 0 && cursor.matches(projectId, recordIds[0]));
            place = 1;
            sequenceId++;
        }
        List<StoredRecord> records = new ArrayList<>(Math.min(limit, recordIds.length));
        Cursor last = cursor;
        for (; place < recordIds.length && records.size() < limit; place++, sequenceId++) {
            Row row = rowById.get(recordIds[place]);
            if (row == null) {
                throw new IllegalStateException(
                        "the feed has a place for record " + recordIds[place] + ", which is not there");
            }
            records.add(RecordRow.record(row, sequenceId));
            last = Cursor.behind(projectId, sequenceId, recordIds[place]);
        }
        return new FeedPage(records, place < recordIds.length ? last : null, null, last);
    }

    private Uni<FeedPage> scanOn(UUID projectId, FeedQuery query) {
        Cursor cursor = query.cursor() == null ? Cursor.START : query.cursor();
        return index.rangesOn(projectId, cursor.sequenceId(), query)
                .chain(ranges -> pool.preparedQuery(SCAN_FEED)
                        .execute(scanTuple(projectId, cursor.sequenceId(), ranges, query))
                        .map(rows -> {
                            Scan scan = new Scan(projectId, query.limit(), rows.size());
                            rows.forEach(scan::add);
                            requireStillThere(cursor, scan.firstIs(cursor));
                            Cursor last = scan.last(cursor);
                            boolean more = scan.full || last.sequenceId() >= ranges.highest();
                            return new FeedPage(scan.records, more ? last : null, null, last);
                        }));
    }

    private Uni<FeedPage> scanBack(UUID projectId, FeedQuery query) {
        Cursor cursor = query.cursor();
        Long before = cursor == null ? null : cursor.sequenceId();
        return index.rangesBack(projectId, before, query)
                .chain(ranges -> pool.preparedQuery(SCAN_FEED_BACK)
                        .execute(scanTuple(projectId, before, ranges, query))
                        .map(rows -> {
                            Scan scan = new Scan(projectId, query.limit(), rows.size());
                            rows.forEach(scan::add);
                            if (cursor != null) {
                                requireStillThere(cursor, scan.firstIs(cursor));
                            }
                            Cursor last = scan.last(cursor == null ? Cursor.START : cursor);
                            Cursor head = query.head() != null ? query.head() : scan.first(Cursor.START);
                            return new FeedPage(scan.records, last.sequenceId() > 1 ? last : null, head, head);
                        }));
    }

    private static Tuple scanTuple(UUID projectId, @Nullable Long sequenceId, Ranges ranges, FeedQuery query) {
        return filters(
                Tuple.tuple()
                        .addUUID(projectId)
                        .addLong(sequenceId)
                        .addArrayOfLong(ranges.first())
                        .addArrayOfLong(ranges.last())
                        .addInteger(query.limit()),
                query.filter());
    }

    /** Adds the filters as all statements take them, one behind the other. */
    static Tuple filters(Tuple tuple, Filter filter) {
        return tuple.addOffsetDateTime(filter.start())
                .addOffsetDateTime(filter.end())
                .addString(filter.action())
                .addString(filter.actor())
                .addString(filter.subject())
                .addString(filter.outcome())
                .addString(filter.ipAddress())
                .addString(filter.q());
    }

    private static void requireStillThere(Cursor cursor, boolean there) {
        if (cursor.sequenceId() > 0 && !there) {
            throw new ProblemException(
                    ProblemType.FEED_REWOUND,
                    "The feed no longer has the record that the cursor " + cursor
                            + " points at: the database was restored, or a failover lost the end of the feed. Records that"
                            + " were read behind it may be gone, and their sequence ids given out again. Compare what you hold"
                            + " with the feed, then go on from an earlier cursor or from the start.");
        }
    }

    /** Collects the rows of one statement: records up to the limit, and the places that cursors are made from. */
    private static final class Scan {

        final List<StoredRecord> records;
        boolean full;

        private final UUID projectId;
        private final int limit;
        private @Nullable Row first;
        private @Nullable Row last;

        Scan(UUID projectId, int limit, int rows) {
            this.projectId = projectId;
            this.limit = limit;
            this.records = new ArrayList<>(Math.min(limit, rows));
        }

        void add(Row row) {
            if (first == null) {
                first = row;
            }
            if (full) {
                return;
            }
            if (RecordRow.hasRecord(row)) {
                if (records.size() == limit) {
                    full = true;
                    return;
                }
                records.add(RecordRow.record(row));
            }
            last = row;
        }

        boolean firstIs(Cursor cursor) {
            return first != null
                    && RecordRow.sequenceId(first) == cursor.sequenceId()
                    && cursor.matches(projectId, RecordRow.recordId(first));
        }

        Cursor first(Cursor otherwise) {
            return cursor(first, otherwise);
        }

        Cursor last(Cursor otherwise) {
            return cursor(last, otherwise);
        }

        private Cursor cursor(@Nullable Row row, Cursor otherwise) {
            return row == null
                    ? otherwise
                    : Cursor.behind(projectId, RecordRow.sequenceId(row), RecordRow.recordId(row));
        }
    }
}
