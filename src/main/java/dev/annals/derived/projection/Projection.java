package dev.annals.derived.projection;

import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.SqlConnection;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;

/**
 * Data that follows from feeds, in tables of its own. It must depend only on the feed, not on the time or the steps, so that a rebuild
 * gives equal data. {@link ProjectionSteps} calls it in the transaction that moves the checkpoint.
 */
public interface Projection {

    String name();

    /**
     * Indexes a bounded number of the next records.
     *
     * @param connection in a transaction that sees all commits so far
     * @param sequenceId the last indexed record
     * @return the new last indexed record; {@code sequenceId} if there are no new ones
     */
    Uni<Long> project(SqlConnection connection, UUID projectId, long sequenceId);

    /** As {@link #project}, for several projects with few new records. If one of them fails, all fail. */
    default Uni<Map<UUID, Long>> projectTogether(SqlConnection connection, Map<UUID, Long> sequenceIds) {
        Map<UUID, Long> taken = new HashMap<>();
        return Multi.createFrom()
                .iterable(sequenceIds.entrySet())
                .onItem()
                .transformToUniAndConcatenate(from ->
                        project(connection, from.getKey(), from.getValue()).invoke(to -> taken.put(from.getKey(), to)))
                .collect()
                .last()
                .replaceWith(taken);
    }

    /** There may be much data: each statement deletes a bounded part. */
    Uni<Void> reset(SqlConnection connection, UUID projectId);

    /** Removes what follows from an indexed record, before fields of it are redacted. */
    default Uni<Void> retract(SqlConnection connection, UUID projectId, long sequenceId) {
        return Uni.createFrom().voidItem();
    }

    /** Indexes a retracted record again. */
    default Uni<Void> include(SqlConnection connection, UUID projectId, long sequenceId) {
        return Uni.createFrom().voidItem();
    }

    /**
     * Corrects data that follows from removed and remaining records together.
     *
     * @param horizon the sequence id of the last removed record; the next record is indexed
     */
    default Uni<Void> afterRemoval(SqlConnection connection, UUID projectId, long horizon) {
        return Uni.createFrom().voidItem();
    }
}
