package dev.annals.record;

import io.vertx.mutiny.sqlclient.Row;
import java.util.Locale;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Reads the columns that the statements {@code read_feed}, {@code scan_feed}, {@code read_records} and the like have in
 * common: sequence_id, record_id, then the record's own, all null if the row only names a place. {@code is_cut} says that a
 * large message or large metadata was left out.
 */
public final class RecordRow {

    private RecordRow() {}

    /** The id of the record that stands at the row's place. */
    public static UUID recordId(Row row) {
        return new Columns().recordId(row);
    }

    /** The record of a row that has one, at the row's place. */
    public static StoredRecord record(Row row) {
        Columns columns = new Columns();
        return columns.record(row, columns.sequenceId(row));
    }

    /** A column by its name in the statements, in lower case. */
    private enum Column {
        SEQUENCE_ID,
        RECORD_ID,
        ID,
        TIMESTAMP,
        RECORDED_AT,
        ACTION,
        ACTOR_TYPE,
        ACTOR_ID,
        ACTOR_NAME,
        SUBJECT_TYPE,
        SUBJECT_ID,
        SUBJECT_NAME,
        OUTCOME,
        IP_ADDRESS,
        MESSAGE,
        METADATA,
        NUMBER_SEQUENCE,
        NUMBER_VALUE,
        RECORDED_BY_TOKEN,
        RECORDED_BY_ROLE,
        IS_CUT
    }

    /** The columns of one statement's rows: their names are looked up in the first row, not in each. */
    public static final class Columns {

        private static final Column[] ALL = Column.values();

        private final int[] positions = new int[ALL.length];
        private boolean known;

        /** The sequence id of the row's place. */
        public long sequenceId(Row row) {
            return row.getLong(at(Column.SEQUENCE_ID, row));
        }

        /** The id of the record that stands at the row's place. */
        public UUID recordId(Row row) {
            return row.getUUID(at(Column.RECORD_ID, row));
        }

        /** Whether the row brings the record itself, too. */
        public boolean hasRecord(Row row) {
            return row.getUUID(at(Column.ID, row)) != null;
        }

        /** Whether the row brings a record without its large fields. */
        public boolean isCut(Row row) {
            return Boolean.TRUE.equals(row.getBoolean(at(Column.IS_CUT, row)));
        }

        /** The record of a row that has one, at a place that is known from elsewhere. */
        public StoredRecord record(Row row, long sequenceId) {
            AuditRecord record = new AuditRecord(
                    row.getUUID(at(Column.ID, row)),
                    false,
                    text(Column.ACTION, row),
                    party(Column.ACTOR_TYPE, Column.ACTOR_ID, Column.ACTOR_NAME, row),
                    party(Column.SUBJECT_TYPE, Column.SUBJECT_ID, Column.SUBJECT_NAME, row),
                    text(Column.OUTCOME, row),
                    text(Column.IP_ADDRESS, row),
                    text(Column.MESSAGE, row),
                    row.getOffsetDateTime(at(Column.TIMESTAMP, row)),
                    false,
                    text(Column.METADATA, row),
                    text(Column.NUMBER_SEQUENCE, row));
            return new StoredRecord(
                    record,
                    sequenceId,
                    row.getOffsetDateTime(at(Column.RECORDED_AT, row)),
                    row.getLong(at(Column.NUMBER_VALUE, row)),
                    recordedBy(row));
        }

        private @Nullable String recordedBy(Row row) {
            UUID token = row.getUUID(at(Column.RECORDED_BY_TOKEN, row));
            if (token != null) {
                return StoredRecord.byToken(token);
            }
            String role = text(Column.RECORDED_BY_ROLE, row);
            return role == null ? null : StoredRecord.byRole(role);
        }

        private @Nullable Party party(Column typeColumn, Column idColumn, Column nameColumn, Row row) {
            String type = text(typeColumn, row);
            String id = text(idColumn, row);
            String name = text(nameColumn, row);
            return type == null && id == null && name == null ? null : new Party(type, id, name);
        }

        private String text(Column column, Row row) {
            return row.getString(at(column, row));
        }

        private int at(Column column, Row row) {
            if (!known) {
                for (Column each : ALL) {
                    positions[each.ordinal()] = row.getColumnIndex(each.name().toLowerCase(Locale.ROOT));
                }
                known = true;
            }
            return positions[column.ordinal()];
        }
    }
}
