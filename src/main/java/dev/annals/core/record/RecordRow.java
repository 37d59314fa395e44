package dev.annals.core.record;

import dev.annals.core.record.AuditRecord.Party;
import dev.annals.core.record.StoredRecord.Redaction;
import dev.annals.kernel.http.IpAddress;
import io.vertx.mutiny.core.buffer.Buffer;
import io.vertx.mutiny.sqlclient.Row;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Reads the columns that {@code read_feed}, {@code scan_feed}, {@code read_records} and other statements share. The columns
 * of the record are all null if the row only names a place. Empty metadata, which is no JSON, says that a large message or
 * large metadata was left out.
 */
public final class RecordRow {

    private RecordRow() {}

    public static UUID recordId(Row row) {
        return new Columns().recordId(row);
    }

    /** The row must have a record. */
    public static StoredRecord record(Row row) {
        Columns columns = new Columns();
        return columns.record(row, columns.sequenceId(row));
    }

    /** An index is -1 if the statement has no such column. */
    private static final class Positions {
        final int sequenceId;
        final int recordId;
        final int mark;
        final int id;
        final int timestamp;
        final int recordedAt;
        final int action;
        final int actorType;
        final int actorId;
        final int actorName;
        final int subjectType;
        final int subjectId;
        final int subjectName;
        final int outcome;
        final int ipAddress;
        final int message;
        final int metadata;
        final int numberSequence;
        final int numberValue;
        final int recordedByToken;
        final int recordedByRole;
        final int redaction;

        Positions(Row row) {
            sequenceId = row.getColumnIndex("sequence_id");
            recordId = row.getColumnIndex("record_id");
            mark = row.getColumnIndex("mark");
            id = row.getColumnIndex("id");
            timestamp = row.getColumnIndex("timestamp");
            recordedAt = row.getColumnIndex("recorded_at");
            action = row.getColumnIndex("action");
            actorType = row.getColumnIndex("actor_type");
            actorId = row.getColumnIndex("actor_id");
            actorName = row.getColumnIndex("actor_name");
            subjectType = row.getColumnIndex("subject_type");
            subjectId = row.getColumnIndex("subject_id");
            subjectName = row.getColumnIndex("subject_name");
            outcome = row.getColumnIndex("outcome");
            ipAddress = row.getColumnIndex("ip_address");
            message = row.getColumnIndex("message");
            metadata = row.getColumnIndex("metadata");
            numberSequence = row.getColumnIndex("number_sequence");
            numberValue = row.getColumnIndex("number_value");
            recordedByToken = row.getColumnIndex("recorded_by_token");
            recordedByRole = row.getColumnIndex("recorded_by_role");
            redaction = row.getColumnIndex("redaction");
        }
    }

    /** Looks up the columns of one statement once, in its first row. Safe for any thread. */
    public static final class Columns {

        private record Recorder(
                @Nullable UUID token,
                @Nullable String role,
                @Nullable String recordedBy) {}

        private volatile @Nullable Positions positions;
        private volatile Recorder lastRecorder = new Recorder(null, null, null);

        public long sequenceId(Row row) {
            return row.getLong(of(row).sequenceId);
        }

        /** At the row's place, which may have no record in the row. */
        public UUID recordId(Row row) {
            return row.getUUID(of(row).recordId);
        }

        public int mark(Row row) {
            return row.getInteger(of(row).mark);
        }

        /** Null if the row only names a place. */
        public @Nullable UUID id(Row row) {
            return row.getUUID(of(row).id);
        }

        public boolean hasRecord(Row row) {
            return id(row) != null;
        }

        /** Whether the row's record lacks its large fields. */
        public boolean isCut(Row row) {
            return "".equals(row.getString(of(row).metadata));
        }

        /** The row must have a record. */
        public StoredRecord record(Row row, long sequenceId) {
            Positions at = of(row);
            AuditRecord record = new AuditRecord(
                    row.getUUID(at.id),
                    false,
                    row.getString(at.action),
                    party(row, at.actorType, at.actorId, at.actorName),
                    party(row, at.subjectType, at.subjectId, at.subjectName),
                    row.getString(at.outcome),
                    ipAddress(row, at.ipAddress),
                    row.getString(at.message),
                    row.getOffsetDateTime(at.timestamp),
                    false,
                    row.getString(at.metadata),
                    row.getString(at.numberSequence),
                    false);
            return new StoredRecord(
                    record,
                    sequenceId,
                    row.getOffsetDateTime(at.recordedAt),
                    row.getLong(at.numberValue),
                    recordedBy(row),
                    redaction(row.getString(at.redaction)));
        }

        private static @Nullable Redaction redaction(@Nullable String stored) {
            return stored == null ? null : Redaction.parse(stored);
        }

        private static @Nullable String ipAddress(Row row, int column) {
            Buffer sent = row.getBuffer(column);
            return sent == null ? null : IpAddress.ofSent(sent.getBytes());
        }

        /** Most records of a page have one writer, whose name takes longer to write than any other field. */
        private @Nullable String recordedBy(Row row) {
            Positions at = of(row);
            UUID token = row.getUUID(at.recordedByToken);
            String role = row.getString(at.recordedByRole);
            Recorder known = lastRecorder;
            if (!Objects.equals(known.token, token) || !Objects.equals(known.role, role)) {
                String recordedBy =
                        token != null ? StoredRecord.byToken(token) : role != null ? StoredRecord.byRole(role) : null;
                known = new Recorder(token, role, recordedBy);
                lastRecorder = known;
            }
            return known.recordedBy;
        }

        private static @Nullable Party party(Row row, int typeColumn, int idColumn, int nameColumn) {
            String type = row.getString(typeColumn);
            String id = row.getString(idColumn);
            String name = row.getString(nameColumn);
            return type == null && id == null && name == null ? null : new Party(type, id, name);
        }

        private Positions of(Row row) {
            Positions known = positions;
            if (known == null) {
                known = new Positions(row);
                positions = known;
            }
            return known;
        }
    }
}
