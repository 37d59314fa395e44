package dev.annals.feed;

import dev.annals.database.DatabaseFailure;
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
import io.vertx.mutiny.sqlclient.Tuple;
import jakarta.enterprise.context.ApplicationScoped;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Reads feeds, a page without filters in one round trip and from one snapshot, in either order. Large records take a second one: they are
 * read in the page's order, until it is full, and never change.
 *
 * <p>A page never skips: sequence ids follow commit order and have no gap, so all records before the last one of a page
 * were visible to the snapshot that the page was read from. With filters the {@link SearchIndex} says first, from an older
 * snapshot, which ranges of the feed to look at; what it leaves out was final by then.
 */
@ApplicationScoped
public class FeedReader {

    private static final String READ_FEED = Sql.named("read_feed");
    private static final String SCAN_FEED = Sql.named("scan_feed");
    private static final String READ_WHOLE_RECORDS = Sql.named("read_whole_records");
    private static final String READ_RECORDS = Sql.named("read_records");

    /** What a statement's result is of a row that was taken as it arrived, lest all of them are held at once. */
    private static final Boolean TAKEN = true;

    private final Pool pool;
    private final SearchIndex index;

    public FeedReader(Pool pool, SearchIndex index) {
        this.pool = pool;
        this.index = index;
    }

    /**
     * Reads a page: of the records asked for as many as have {@link FeedQuery#maxBytes}, but one at least. It takes {@link
     * FeedQuery#memory} at most, for which the caller answers.
     *
     * @return fails with a {@code feed-rewound} problem where the cursor no longer matches the feed
     */
    public Uni<FeedPage> read(UUID projectId, FeedQuery query) {
        return DatabaseFailure.retried(Uni.createFrom().deferred(() -> {
            if (query.order() == Order.DESCENDING) {
                return scanBack(projectId, query);
            }
            return query.filter().equals(Filter.NONE) ? readOn(projectId, query) : scanOn(projectId, query);
        }));
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
        Read read = new Read(query);
        return pool.preparedQuery(READ_FEED)
                .mapping(row -> {
                    read.add(row);
                    return TAKEN;
                })
                .execute(Tuple.of(projectId, cursor.sequenceId(), query.limit() + 1))
                .chain(all -> page(projectId, cursor, query.limit(), read));
    }

    /** Puts the records of {@code read_feed.sql} in the order of their places. */
    private Uni<FeedPage> page(UUID projectId, Cursor cursor, int limit, Read read) {
        UUID[] recordIds = read.recordIds;
        long lastSequenceId = read.lastSequenceId;
        long sequenceId = Math.max(cursor.sequenceId(), 1);
        if (lastSequenceId < sequenceId) {
            // The head lies before the cursor: the statement found the last segment, which holds none of its places.
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

    /** The records of a page that fit into it, in their order. Large ones are read only now. */
    private Uni<List<StoredRecord>> fetched(UUID projectId, PageRecords records) {
        UUID[] large = records.large();
        if (large.length == 0) {
            return Uni.createFrom().item(records.fitting());
        }
        return pool.preparedQuery(READ_WHOLE_RECORDS)
                .mapping(row -> {
                    records.takeWhole(row);
                    return TAKEN;
                })
                .execute(Tuple.of(projectId, large, (long) records.maxBytes()))
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
            // Every record passes: where they are is known without the index, or by the statement, which sees the head.
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
        Tuple binds = Tuple.tuple()
                .addUUID(projectId)
                .addInteger(query.order() == Order.ASCENDING ? 1 : -1)
                .addLong(sequenceId)
                .addArrayOfLong(first)
                .addArrayOfLong(last)
                .addInteger(query.limit());
        return pool.preparedQuery(SCAN_FEED)
                .mapping(row -> {
                    scan.add(row);
                    return TAKEN;
                })
                .execute(query.filter().addTo(binds))
                .map(all -> scan);
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

    /** Takes the rows of {@code read_feed.sql}. */
    private static final class Read {

        final PageRecords records;
        UUID[] recordIds = {};
        long lastSequenceId;

        Read(FeedQuery query) {
            this.records = new PageRecords(query.maxBytes(), new RecordRow.Columns());
        }

        void add(Row row) {
            if (!records.take(row) && row.getLong("last_sequence_id") != null) {
                lastSequenceId = row.getLong("last_sequence_id");
                recordIds = row.getArrayOfUUIDs("record_ids");
            }
        }
    }

    /** Takes the rows of one statement: records up to the limit, and the places that cursors are made from. */
    private static final class Scan {

        final PageRecords records;

        private final RecordRow.Columns columns = new RecordRow.Columns();
        private final UUID projectId;
        private final int limit;
        private boolean full;
        private @Nullable Cursor first;
        private @Nullable Cursor last;

        Scan(UUID projectId, FeedQuery query) {
            this.projectId = projectId;
            this.limit = query.limit();
            this.records = new PageRecords(query.maxBytes(), columns);
        }

        void add(Row row) {
            Cursor place = Cursor.behind(projectId, columns.sequenceId(row), columns.recordId(row));
            if (first == null) {
                first = place;
            }
            if (full) {
                return;
            }
            if (columns.hasRecord(row)) {
                if (records.places() == limit) {
                    full = true;
                    return;
                }
                records.place(columns.sequenceId(row), columns.recordId(row));
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

        /** Where the page ends: behind its last record, where not all fit into it. */
        Cursor last(List<StoredRecord> fitting, Cursor otherwise) {
            if (records.isCut()) {
                return behind(projectId, fitting.get(fitting.size() - 1));
            }
            return last == null ? otherwise : last;
        }

        /** Whether there were more records than the page has. */
        boolean isFull() {
            return full || records.isCut();
        }
    }
}
