package dev.annals.core.append;

import dev.annals.access.places.OnePlace;
import dev.annals.core.feed.HeadWatch;
import dev.annals.core.record.AuditRecord;
import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.OneDatabase;
import dev.annals.kernel.database.ServicePool;
import dev.annals.kernel.guid.SequentialGuid;
import io.quarkus.arc.Arc;
import io.vertx.mutiny.sqlclient.Pool;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/** The writing part of another instance of the service: queues, writers and connections of its own, on the same database. */
public final class OtherInstance implements AutoCloseable {

    private static final UUID TOKEN = UUID.randomUUID();
    private static final int POOL_SIZE = 4;

    private final Pool pool;
    private final AppendStore writer;
    private final AppendQueue queues;

    /** Opens its connections. */
    public OtherInstance() {
        ServicePool pools = instance(ServicePool.class);
        AppendConfig config = instance(AppendConfig.class);
        AppendBounds bounds = instance(AppendBounds.class);
        pool = pools.open(POOL_SIZE);
        Databases only = OneDatabase.of(pool, pools);
        writer = new AppendStore(
                only.home(),
                OnePlace.of(only),
                database -> store(),
                new SequentialGuid(),
                instance(HeadWatch.class),
                config,
                bounds,
                instance(AnnalsConfig.class).database().lockTimeout());
        queues = new AppendQueue(
                writer, config.writers(), bounds, new AppendQueue.Room(config.totalQueueBytes(), 1), System::nanoTime);
    }

    private AppendStore store() {
        return writer;
    }

    private static <T> T instance(Class<T> type) {
        return Arc.container().instance(type).get();
    }

    /**
     * Appends one record to each project at the same time, and waits for the outcomes.
     *
     * @param ids the records' ids by their projects, which are taken in this order
     * @return the sequence ids by project, without those of appends that failed
     */
    public Map<UUID, Long> append(Map<UUID, UUID> ids) throws Exception {
        List<AppendRequest> requests = new ArrayList<>();
        ids.forEach((project, id) -> requests.add(new AppendRequest(project, TOKEN, List.of(record(id)), 100)));
        for (AppendRequest request : requests) {
            var unused = queues.append(request);
        }
        Map<UUID, Long> sequenceIds = new LinkedHashMap<>();
        for (AppendRequest request : requests) {
            AppendOutcome outcome = request.outcome.get(60, TimeUnit.SECONDS);
            if (outcome instanceof AppendOutcome.Stored stored) {
                sequenceIds.put(request.key.projectId(), stored.records().get(0).sequenceId());
            } else if (!(outcome instanceof AppendOutcome.Unavailable)) {
                throw new AssertionError(outcome);
            }
        }
        return sequenceIds;
    }

    private static AuditRecord record(UUID id) {
        OffsetDateTime now = OffsetDateTime.now(ZoneOffset.UTC);
        return new AuditRecord(id, false, "instance", null, null, null, null, null, now, true, null, null, false);
    }

    @Override
    public void close() {
        writer.close();
        pool.closeAndAwait();
    }
}
