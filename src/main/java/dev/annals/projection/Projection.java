package dev.annals.projection;

import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.SqlConnection;
import java.util.UUID;

/**
 * Something that is derived from feeds, and kept in tables of its own. A row of {@code annals.projection} has the same
 * name. What is derived must depend on the feed alone, and neither on the time nor on how the feed is cut into steps: then a
 * rebuild gives the same.
 */
public interface Projection {

    /** Its name in the database and in metrics. */
    String name();

    /**
     * Takes in the next records of a project's feed; a bounded number of them. {@link Projector} holds the checkpoint, and
     * moves it in the same transaction.
     *
     * @param connection in a transaction that sees all commits so far
     * @param sequenceId all records up to this one are in
     * @return up to which record all are in now; {@code sequenceId} where there is nothing to take in
     */
    Uni<Long> project(SqlConnection connection, UUID projectId, long sequenceId);

    /** Forgets what was derived from a project's feed, in the transaction that moves the checkpoint to its start. */
    Uni<Void> reset(SqlConnection connection, UUID projectId);
}
