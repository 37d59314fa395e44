package dev.annals.core.append;

import dev.annals.core.record.AuditRecord;
import dev.annals.kernel.guid.SequentialGuid;
import io.vertx.mutiny.sqlclient.Tuple;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** Lends the benchmarks the binds of the service's statement exactly as the service makes them. */
public final class AppendBinds {

    private static final UUID TOKEN = UUID.randomUUID();

    private AppendBinds() {}

    /** The statement that writes these records. */
    public static String statement(List<AuditRecord> records, SequentialGuid guids) {
        return batch(new UUID(0, 0), records, guids)
                .insert(Duration.ZERO)
                .statement()
                .text();
    }

    private static AppendBatch batch(UUID projectId, List<AuditRecord> records, SequentialGuid guids) {
        return AppendBatch.whole(List.of(new AppendRequest(projectId, TOKEN, records, 0)), guids);
    }

    /** The values of $1, $2 … */
    public static List<Object> of(UUID projectId, List<AuditRecord> records, SequentialGuid guids) {
        Tuple tuple = batch(projectId, records, guids).insert(Duration.ZERO).tuple();
        List<Object> values = new ArrayList<>(tuple.size());
        for (int i = 0; i < tuple.size(); i++) {
            values.add(tuple.getValue(i));
        }
        return values;
    }
}
