package dev.annals.record;

import java.util.List;

/**
 * The records of one request body, in the order sent.
 *
 * @param inArray whether they came as a JSON array, and not as one bare object
 * @param records 1 to {@link RecordReader#MAX_RECORDS} of them; exactly one where not {@code inArray}
 */
public record SentRecords(boolean inArray, List<AuditRecord> records) {
    public SentRecords {
        records = List.copyOf(records);
    }

    /** Whether one of the records wants a number. */
    public boolean wantNumbers() {
        return records.stream().anyMatch(record -> record.numberSequence() != null);
    }
}
