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
 * The records of one page while it is read, within the page's bytes. Rows are taken one by one as they arrive, in any order,
 * and encoded at once; of records that no longer fit, only the places are kept.
 */
final class PageRecords {

    private static final RecordRow.Columns WHOLE_COLUMNS = new RecordRow.Columns();

    private final @Nullable Reservation held;
    /** What the whole page takes at most. */
    private final long memory;

    private int maxBytes;
    private final RecordRow.Columns columns;
    private final RecordEncoder encoder;
    /** The places of the page, in its order. */
    private final List<Place> places = new ArrayList<>();

    private final Map<UUID, Place> placeOf = new HashMap<>();
    private long bytes;
    private boolean allTaken = true;
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
     * The records of a page that has none yet.
     *
     * @param held the page's memory, which grows with it: where there is no more, the page becomes shorter. Null if there is
     *     enough for the whole page
     * @param columns of the rows that {@link #take} takes
     */
    PageRecords(FeedQuery query, @Nullable Reservation held, RecordEncoder.Format format, RecordRow.Columns columns) {
        this.maxBytes = query.maxBytes();
        this.memory = query.memory();
        this.held = held;
        this.encoder = new RecordEncoder(format);
        this.columns = columns;
    }

    /** How many bytes the page may have; less than at first if there is not enough memory. Takes what it needs for them. */
    int reserve() {
        if (held != null && !held.tryGrowTo(memory)) {
            maxBytes = Math.min(maxBytes, FeedQuery.bytesWithin(held.bytes()));
        }
        return maxBytes;
    }

    /** Adds the next place of the page. */
    void place(long sequenceId, UUID recordId, int mark) {
        Place place = new Place(sequenceId, recordId, mark);
        places.add(place);
        placeOf.put(recordId, place);
    }

    /** How many records the page is meant to have. */
    int places() {
        return places.size();
    }

    /** Takes the record of a row, unless it has no place here, its large fields were left out, or the page is full. */
    void take(Row row) {
        if (columns.isCut(row) || bytes > maxBytes) {
            allTaken = false;
        } else {
            put(row, columns);
        }
    }

    /** Takes one of the {@link #large} records. */
    void takeWhole(Row row) {
        put(row, WHOLE_COLUMNS);
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

    /** Takes memory for what has come, and some for what follows. */
    private void grow() {
        long need = FeedQuery.memory(bytes);
        if (held == null || bytes > maxBytes || need <= held.bytes()) {
            return;
        }
        if (!held.tryGrowTo(Math.min(2 * need, memory)) && !held.tryGrowTo(need)) {
            maxBytes = FeedQuery.bytesWithin(held.bytes());
        }
    }

    /** The records that were not taken and may fit into the page, in their order. */
    UUID[] large() {
        if (allTaken) {
            return new UUID[0];
        }
        List<UUID> large = new ArrayList<>();
        long before = 0;
        for (Place place : places) {
            if (place.record == null) {
                large.add(place.recordId);
            } else {
                before += place.record.length();
            }
            if (before > maxBytes) {
                break;
            }
        }
        return large.toArray(UUID[]::new);
    }

    /** The page's records, as many as fit into it, but at least one. Nothing can be taken after this. */
    List<EncodedRecord> fitting() {
        encoder.close();
        List<EncodedRecord> fitting = new ArrayList<>(places.size());
        long sum = 0;
        for (Place place : places) {
            EncodedRecord record = place.record;
            if (record == null && fitting.isEmpty()) {
                throw new IllegalStateException(
                        "the feed has a place for record " + place.recordId + ", which is not there");
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

    /** Whether {@link #fitting} left records out. */
    boolean isCut() {
        return cut;
    }
}
