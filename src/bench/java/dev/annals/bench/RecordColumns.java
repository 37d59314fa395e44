package dev.annals.bench;

import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.AuditRecord.Party;
import java.time.OffsetDateTime;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Inserts into the audit_record of the search path: one record by its values, more by a column an array. */
public final class RecordColumns {

    private RecordColumns() {}

    /** The statement that inserts so many records. */
    public static String insert(int records) {
        return NumberedStatement.resource(records == 1 ? "insert_record.sql" : "insert_records.sql");
    }

    /** The values of $1 to $14 of {@link #insert}. */
    public static List<Object> of(UUID projectId, List<AuditRecord> records) {
        List<Object> columns = columns(projectId, records);
        if (records.size() == 1) {
            columns.replaceAll(column -> column instanceof Object[] elements ? elements[0] : column);
        }
        return columns;
    }

    private static List<Object> columns(UUID projectId, List<AuditRecord> records) {
        return Arrays.asList(
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
