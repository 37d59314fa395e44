package dev.annals.bench;

import dev.annals.record.AuditRecord;
import dev.annals.record.Party;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Records as the binds of {@code insert_records.sql}: a column an array. */
public final class RecordColumns {

    /** Inserts into the audit_record of the search path. */
    public static final String INSERT = NumberedStatement.resource("insert_records.sql");

    private RecordColumns() {}

    /** The values of $1 to $14. */
    public static List<Object> of(UUID projectId, List<AuditRecord> records) {
        return List.of(
                projectId,
                records.stream().map(AuditRecord::id).toArray(UUID[]::new),
                records.stream().map(AuditRecord::timestamp).toArray(OffsetDateTime[]::new),
                text(records, AuditRecord::action),
                text(records, record -> part(record.actor(), Party::type)),
                text(records, record -> part(record.actor(), Party::id)),
                text(records, record -> part(record.actor(), Party::name)),
                text(records, record -> part(record.subject(), Party::type)),
                text(records, record -> part(record.subject(), Party::id)),
                text(records, record -> part(record.subject(), Party::name)),
                text(records, AuditRecord::outcome),
                text(records, AuditRecord::ipAddress),
                text(records, AuditRecord::message),
                text(records, AuditRecord::metadata));
    }

    private static Object text(List<AuditRecord> records, Function<AuditRecord, @Nullable String> value) {
        return records.stream().map(value).toArray(String[]::new);
    }

    private static @Nullable String part(@Nullable Party party, Function<Party, @Nullable String> value) {
        return party == null ? null : value.apply(party);
    }
}
