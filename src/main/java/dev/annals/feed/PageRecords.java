package dev.annals.feed;

import dev.annals.record.RecordRow;
import dev.annals.record.RecordSize;
import dev.annals.record.StoredRecord;
import io.vertx.mutiny.sqlclient.Row;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The records of one page while it is read, within the page's bytes. Rows are taken one by one as they arrive; of records
 * that no longer fit, only the places are kept.
 */
final class PageRecords {

    private static final RecordRow.Columns WHOLE_COLUMNS = new RecordRow.Columns();

    private record Place(long sequenceId, UUID recordId) {}

    private final int maxBytes;
    private final RecordRow.Columns columns;
    private final List<Place> places = new ArrayList<>();
    private final Map<UUID, StoredRecord> records = new HashMap<>();
    private long characters;
    private boolean allTaken = true;
    private boolean cut;

    /** @param columns of the rows that {@link #take} takes */
    PageRecords(int maxBytes, RecordRow.Columns columns) {
        this.maxBytes = maxBytes;
        this.columns = columns;
    }

    int maxBytes() {
        return maxBytes;
    }

    /**
     * Takes the record of a row, unless its large fields were left out or the page is full.
     *
     * @return whether the row has a record
     */
    boolean take(Row row) {
        if (!columns.hasRecord(row)) {
            return false;
        }
        if (columns.isCut(row) || characters > maxBytes) {
            allTaken = false;
        } else {
            put(columns.record(row, 0));
        }
        return true;
    }

    /** Takes one of the {@link #large} records. */
    void takeWhole(Row row) {
        put(WHOLE_COLUMNS.record(row, 0));
    }

    private void put(StoredRecord record) {
        records.put(record.record().id(), record);
        characters += RecordSize.characters(record);
    }

    /** Adds the next record of the page. */
    void place(long sequenceId, UUID recordId) {
        places.add(new Place(sequenceId, recordId));
    }

    /** How many records the page is meant to have. */
    int places() {
        return places.size();
    }

    /** The records that were not taken and may fit into the page, in their order. */
    UUID[] large() {
        if (allTaken) {
            return new UUID[0];
        }
        List<UUID> large = new ArrayList<>();
        long bytes = 0;
        for (Place place : places) {
            StoredRecord record = records.get(place.recordId());
            if (record == null) {
                large.add(place.recordId());
            } else {
                bytes += RecordSize.json(record);
            }
            if (bytes > maxBytes) {
                break;
            }
        }
        return large.toArray(UUID[]::new);
    }

    /** The page's records, as many as fit into it, but at least one. */
    List<StoredRecord> fitting() {
        // Counted one by one only if all of them together may not fit.
        boolean all = RecordSize.jsonAtMost(records.size(), characters) <= maxBytes;
        List<StoredRecord> fitting = new ArrayList<>(Math.min(places.size(), records.size()));
        long bytes = 0;
        for (Place place : places) {
            @Nullable StoredRecord record = records.get(place.recordId());
            if (record == null && fitting.isEmpty()) {
                throw new IllegalStateException(
                        "the feed has a place for record " + place.recordId() + ", which is not there");
            }
            bytes += all || record == null ? 0 : RecordSize.json(record);
            if (record == null || (bytes > maxBytes && !fitting.isEmpty())) {
                cut = true;
                break;
            }
            fitting.add(record.at(place.sequenceId()));
        }
        return fitting;
    }

    /** Whether {@link #fitting} left records out. */
    boolean isCut() {
        return cut;
    }
}
