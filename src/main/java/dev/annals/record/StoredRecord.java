package dev.annals.record;

import java.time.OffsetDateTime;
import org.jspecify.annotations.Nullable;

/**
 * A record that has its place in the feed.
 *
 * @param record what the client sent
 * @param sequenceId its place: 1, 2, 3 … in its project, in commit order
 * @param recordedAt when the service took it
 * @param numberValue its number: the value of the sequence that the record names; null where it names none
 */
public record StoredRecord(
        AuditRecord record,
        long sequenceId,
        OffsetDateTime recordedAt,
        @Nullable Long numberValue) {

    /** A record without a number. */
    public StoredRecord(AuditRecord record, long sequenceId, OffsetDateTime recordedAt) {
        this(record, sequenceId, recordedAt, null);
    }
}
