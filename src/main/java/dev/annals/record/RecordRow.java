package dev.annals.record;

import io.vertx.mutiny.sqlclient.Row;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Reads the columns that the statements {@code read_feed}, {@code scan_feed}, {@code read_records} and the like have in
 * common: sequence_id, record_id, then the record's own, all null if the row only names a place. {@code is_cut} says that a
 * large message or large metadata was left out.
 */
public final class RecordRow {

    private RecordRow() {}

    /** The sequence id of the row's place. */
    public static long sequenceId(Row row) {
        return row.getLong(0);
    }

    /** The id of the record that stands at the row's place. */
    public static UUID recordId(Row row) {
        return row.getUUID(1);
    }

    /** Whether the row brings the record itself, too. */
    public static boolean hasRecord(Row row) {
        return row.getUUID(2) != null;
    }

    /** Whether the row brings a record without its large fields. */
    public static boolean isCut(Row row) {
        return Boolean.TRUE.equals(row.getBoolean(20));
    }

    /** The record of a row that has one, at the row's place. */
    public static StoredRecord record(Row row) {
        return record(row, sequenceId(row));
    }

    /** The record of a row that has one, at a place that is known from elsewhere. */
    public static StoredRecord record(Row row, long sequenceId) {
        AuditRecord record = new AuditRecord(
                row.getUUID(2),
                false,
                row.getString(5),
                party(row, 6),
                party(row, 9),
                row.getString(12),
                row.getString(13),
                row.getString(14),
                row.getOffsetDateTime(3),
                false,
                row.getString(15),
                row.getString(16));
        return new StoredRecord(record, sequenceId, row.getOffsetDateTime(4), row.getLong(17), recordedBy(row));
    }

    private static @Nullable String recordedBy(Row row) {
        UUID token = row.getUUID(18);
        if (token != null) {
            return StoredRecord.byToken(token);
        }
        String role = row.getString(19);
        return role == null ? null : StoredRecord.byRole(role);
    }

    private static @Nullable Party party(Row row, int column) {
        String type = row.getString(column);
        String id = row.getString(column + 1);
        String name = row.getString(column + 2);
        return type == null && id == null && name == null ? null : new Party(type, id, name);
    }
}
