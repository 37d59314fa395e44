package dev.annals.derived.projection;

import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.SqlConnection;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;

/**
 * Something derived from feeds and kept in tables of its own. A row of {@code annals.projection} has the same name. What is
 * derived must depend only on the feed, and neither on the time nor on how the feed is cut into steps, so that a rebuild
 * gives the same result.
 */
public interface Projection {

    /** Its name in the database and in metrics. */
    String name();

    /**
     * Takes in the next records of a project's feed, a bounded number of them. {@link Projector} holds the checkpoint, and
     * moves it in the same transaction.
     *
     * @param connection in a transaction that sees all commits so far
     * @param sequenceId all records up to this one have been taken in
     * @return up to which record all have now been taken in; {@code sequenceId} if there are no new ones
     */
    Uni<Long> project(SqlConnection connection, UUID projectId, long sequenceId);

    /**
     * The same for several projects of which each has few new records, in one transaction. Whatever fails in one of them fails
     * them all: {@link Projector} then takes each by itself.
     *
     * @param sequenceIds of each project: all records up to this one have been taken in
     * @return up to which record all have now been taken in, of each of these projects
     */
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

    /**
     * Forgets what was derived from a project's feed, in the transaction that moves the checkpoint to its start. That may be
     * much: each of its statements takes a bounded part.
     */
    Uni<Void> reset(SqlConnection connection, UUID projectId);

    /**
     * Takes back what was derived from one record, in the transaction that is about to redact fields of it. {@link Projector} holds
     * the checkpoint. Does nothing where nothing is derived that a redaction changes.
     *
     * @param sequenceId of a record that has been taken in
     */
    default Uni<Void> takeBack(SqlConnection connection, UUID projectId, long sequenceId) {
        return Uni.createFrom().voidItem();
    }

    /** Takes the same record in again, as it is now. What is derived then is what a rebuild would give. */
    default Uni<Void> takeAgain(SqlConnection connection, UUID projectId, long sequenceId) {
        return Uni.createFrom().voidItem();
    }

    /**
     * Corrects what is derived together from the records that have expired now and others, in the transaction in which they do. {@link
     * Projector} holds the checkpoint. What is derived from the former alone goes with them.
     *
     * @param horizon the sequence id of the last of them; the next record has been taken in
     */
    default Uni<Void> expired(SqlConnection connection, UUID projectId, long horizon) {
        return Uni.createFrom().voidItem();
    }
}
