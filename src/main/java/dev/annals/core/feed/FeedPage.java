package dev.annals.core.feed;

import dev.annals.core.record.RecordEncoder;
import dev.annals.core.record.RecordEncoder.EncodedRecord;
import dev.annals.core.record.RecordRow;
import dev.annals.kernel.memory.Reservation;
import io.vertx.mutiny.sqlclient.Row;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A page of a feed, in the order asked for.
 *
 * @param next null if this page reaches the end of what was asked for
 * @param head in descending order, the head that the first page saw; null in ascending order
 * @param pollMore the cursor behind which a later read finds newer records
 * @param searched null without filters
 * @param snapshot null unless the database returned the page oldest first and without filters
 */
public record FeedPage(
        List<EncodedRecord> records,
        @Nullable Cursor next,
        @Nullable Cursor head,
        Cursor pollMore,
        @Nullable Searched searched,
        @Nullable Snapshot snapshot) {

    /** At most the links, and the JSON around all records. */
    private static final int FRAME_BYTES = 8_192;

    /** The state of a feed when the page behind {@code begin} was read. */
    public record Snapshot(Cursor begin, long redactions) {}

    /**
     * The part of the feed in which no record but those of the page matches.
     *
     * @param from the sequence id before the first searched record; 0 if no older record exists
     * @param through the sequence id of the last searched record
     * @param indexedThrough the sequence id up to which the index named the places to read; later records were read one by one
     */
    public record Searched(long from, long through, long indexedThrough) {}

    public FeedPage(List<EncodedRecord> records, @Nullable Cursor next, @Nullable Cursor head, Cursor pollMore) {
        this(records, next, head, pollMore, null, null);
    }

    /** In bytes. */
    public long answerAtMost() {
        return FRAME_BYTES + records.size() + bytes();
    }

    long bytes() {
        long bytes = 0;
        for (EncodedRecord record : records) {
            bytes += record.length();
        }
        return bytes;
    }

    /**
     * Collects first the places of one page in its order, then rows in any order. A record that no longer fits leaves only
     * its place.
     */
    static final class Builder {

        private static final RecordRow.Columns LARGE_COLUMNS = new RecordRow.Columns();

        private final @Nullable Reservation held;
        private final long memory;

        private int maxBytes;
        private final RecordRow.Columns columns;
        private final RecordEncoder encoder;
        private final List<Place> places = new ArrayList<>();
        private final Map<UUID, Place> placeOf = new HashMap<>();
        private long bytes;
        private boolean allAdded = true;
        private boolean cut;

        private static final class Place {
            final long sequenceId;
            final UUID recordId;
            final int mark;

            @Nullable
            EncodedRecord record;

            Place(long sequenceId, UUID recordId, int mark) {
                this.sequenceId = sequenceId;
                this.recordId = recordId;
                this.mark = mark;
            }
        }

        /**
         * An empty page.
         *
         * @param held grows with the page; if it cannot, the page becomes shorter. Null if the caller reserved {@link FeedQuery#memory}
         */
        Builder(FeedQuery query, @Nullable Reservation held, RecordRow.Columns columns) {
            this.maxBytes = query.maxBytes();
            this.memory = query.memory();
            this.held = held;
            this.encoder = new RecordEncoder(query.format());
            this.columns = columns;
        }

        /** Returns how many bytes the page may have. */
        int reserveAll() {
            if (held != null && !held.tryGrowTo(memory)) {
                maxBytes = Math.min(maxBytes, FeedQuery.bytesWithin(held.bytes()));
            }
            return maxBytes;
        }

        void addPlace(long sequenceId, UUID recordId, int mark) {
            Place place = new Place(sequenceId, recordId, mark);
            places.add(place);
            placeOf.put(recordId, place);
        }

        int places() {
            return places.size();
        }

        /** Leaves the record out if the row lacks its large fields or the page is full. */
        void add(Row row) {
            if (columns.isCut(row) || bytes > maxBytes) {
                allAdded = false;
            } else {
                put(row, columns);
            }
        }

        void addLarge(Row row) {
            put(row, LARGE_COLUMNS);
        }

        private void put(Row row, RecordRow.Columns of) {
            Place place = placeOf.get(of.id(row));
            if (place != null) {
                EncodedRecord record = encoder.encode(of.record(row, place.sequenceId), place.mark);
                place.record = record;
                bytes += record.length();
                grow();
            }
        }

        /** Reserves twice what the page needs so far, or else just that. */
        private void grow() {
            long need = FeedQuery.memory(bytes);
            if (held == null || bytes > maxBytes || need <= held.bytes()) {
                return;
            }
            if (!held.tryGrowTo(Math.min(2 * need, memory)) && !held.tryGrowTo(need)) {
                maxBytes = FeedQuery.bytesWithin(held.bytes());
            }
        }

        /** The records that were not added and may still fit, in the page's order. */
        UUID[] missing() {
            if (allAdded) {
                return new UUID[0];
            }
            List<UUID> missing = new ArrayList<>();
            long before = 0;
            for (Place place : places) {
                if (place.record == null) {
                    missing.add(place.recordId);
                } else {
                    before += place.record.length();
                }
                if (before > maxBytes) {
                    break;
                }
            }
            return missing.toArray(UUID[]::new);
        }

        /** As many records as fit, but at least one. Ends the building. */
        List<EncodedRecord> build() {
            encoder.close();
            List<EncodedRecord> fitting = new ArrayList<>(places.size());
            long sum = 0;
            for (Place place : places) {
                EncodedRecord record = place.record;
                if (record == null && fitting.isEmpty()) {
                    throw new IllegalStateException(
                            "the feed has a place for record " + place.recordId + ", but the record is missing");
                }
                sum += record == null ? 0 : record.length();
                if (record == null || (sum > maxBytes && !fitting.isEmpty())) {
                    cut = true;
                    break;
                }
                fitting.add(record);
            }
            return fitting;
        }

        boolean isCut() {
            return cut;
        }
    }
}
