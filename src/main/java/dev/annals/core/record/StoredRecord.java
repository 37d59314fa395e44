package dev.annals.core.record;

import java.time.OffsetDateTime;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A record that has its place in the feed.
 *
 * @param record what the client sent
 * @param sequenceId its place: 1, 2, 3 … in its project, in commit order
 * @param recordedAt when it was taken in
 * @param numberValue its number: the value of the sequence that the record names; null if it names none
 * @param recordedBy who wrote it: {@code token:} and the token's id, or {@code role:} and the database role's name; null
 *     only if the schema's owner stored neither
 * @param redaction what is left of fields that were redacted; null if none was
 */
public record StoredRecord(
        AuditRecord record,
        long sequenceId,
        OffsetDateTime recordedAt,
        @Nullable Long numberValue,
        @Nullable String recordedBy,
        @Nullable Redaction redaction) {

    /** A record of which nothing was redacted. */
    public StoredRecord(
            AuditRecord record,
            long sequenceId,
            OffsetDateTime recordedAt,
            @Nullable Long numberValue,
            @Nullable String recordedBy) {
        this(record, sequenceId, recordedAt, numberValue, recordedBy, null);
    }

    /** A record without a number. */
    public StoredRecord(AuditRecord record, long sequenceId, OffsetDateTime recordedAt, @Nullable String recordedBy) {
        this(record, sequenceId, recordedAt, null, recordedBy);
    }

    /** The {@link #recordedBy} of records that came with a token, or from an identity, whose ids are UUIDs of version 8. */
    public static String byToken(UUID id) {
        return (id.version() == 8 ? "identity:" : "token:") + id;
    }

    /** The {@link #recordedBy} of records that were inserted by plain SQL. */
    public static String byRole(String role) {
        return "role:" + role;
    }

    /**
     * Whether a record, as a client sends it, is this one. What was redacted cannot be compared: it may be anything.
     *
     * @see AuditRecord#sameContentAs
     */
    public boolean isSentAs(AuditRecord sent) {
        return (redaction == null ? sent : sent.without(redaction.digests().keySet())).sameContentAs(record);
    }

    /** The same record, as if its fields that are gone had never been there. */
    public StoredRecord withoutRedaction() {
        return new StoredRecord(record, sequenceId, recordedAt, numberValue, recordedBy);
    }

    /** The same place, with a record that has the same id but content that nobody ever sent. */
    public StoredRecord withoutContent() {
        AuditRecord empty =
                new AuditRecord(record.id(), "", null, null, null, null, null, record.timestamp(), false, null);
        return new StoredRecord(empty, sequenceId, recordedAt, null, recordedBy);
    }

    /** The same record at this place. */
    public StoredRecord at(long place) {
        return new StoredRecord(record, place, recordedAt, numberValue, recordedBy, redaction);
    }
}
