package dev.annals.derived.log;

import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.AuditRecord.Party;
import dev.annals.core.record.RecordEncoder;
import dev.annals.core.record.StoredRecord;
import dev.annals.core.record.StoredRecord.Redaction;
import dev.annals.derived.proof.TileSeed;
import dev.annals.kernel.http.IpAddress;
import dev.annals.proof.Hash;
import dev.annals.proof.LeafRecord;
import dev.annals.proof.Seed;
import java.nio.charset.StandardCharsets;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.OffsetDateTime;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The entry of a record in its log, computed from a row of {@code read_leaf_records.sql} that JDBC has read. */
public final class StoredEntry {

    private StoredEntry() {}

    /**
     * Computes the entry.
     *
     * @return null if the seed was deleted, and nothing of the record was redacted
     * @throws IllegalArgumentException if the record cannot be served, like {@link java.time.DateTimeException}
     */
    public static @Nullable Hash of(ResultSet row, long sequenceId, TileSeed seed) throws SQLException {
        String json = new String(RecordEncoder.toBytes(record(row, sequenceId)), StandardCharsets.UTF_8);
        LeafRecord record = LeafRecord.parse(json);
        String stored = row.getString("redaction");
        if (stored != null) {
            Redaction redaction = Redaction.parse(stored);
            return record.entry(redaction.salts(), redaction.digests());
        }
        Seed own = seed.ofRecord(sequenceId);
        return own == null ? null : record.entry(own);
    }

    private static StoredRecord record(ResultSet row, long sequenceId) throws SQLException {
        AuditRecord record = new AuditRecord(
                row.getObject("id", UUID.class),
                false,
                row.getString("action"),
                party(row, "actor"),
                party(row, "subject"),
                row.getString("outcome"),
                ipAddress(row),
                row.getString("message"),
                row.getObject("timestamp", OffsetDateTime.class),
                false,
                row.getString("metadata"),
                row.getString("number_sequence"),
                false);
        UUID token = row.getObject("recorded_by_token", UUID.class);
        String role = row.getString("recorded_by_role");
        return new StoredRecord(
                record,
                sequenceId,
                row.getObject("recorded_at", OffsetDateTime.class),
                row.getObject("number_value", Long.class),
                token != null ? StoredRecord.byToken(token) : role != null ? StoredRecord.byRole(role) : null);
    }

    private static @Nullable String ipAddress(ResultSet row) throws SQLException {
        byte[] sent = row.getBytes("ip_address");
        return sent == null ? null : IpAddress.ofSent(sent);
    }

    private static @Nullable Party party(ResultSet row, String name) throws SQLException {
        String type = row.getString(name + "_type");
        String id = row.getString(name + "_id");
        String is = row.getString(name + "_name");
        return type == null && id == null && is == null ? null : new Party(type, id, is);
    }
}
