package dev.annals.derived.log;

import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Sql;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.CompactRange;
import dev.annals.proof.Hash;
import dev.annals.proof.Note;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.SqlConnection;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * A row of {@code annals.merkle_log}, and the statements that read, lock and halt it. {@link LogTree} moves its tree, {@link
 * CheckpointSigner} its note.
 *
 * @param frontier the hashes of the largest complete subtrees, from left to right
 * @param epoch counts the logs of the project, from 1
 * @param signedSize the size in the newest note; 0 if there is none
 * @param incarnation the database that signed the newest note
 * @param halted why nothing is signed until an operator decides; null if it is signed
 * @param cosigned the newest note that enough witnesses have cosigned
 */
record LogState(
        long size,
        List<Hash> frontier,
        int epoch,
        long signedSize,
        @Nullable String note,
        @Nullable String incarnation,
        @Nullable String halted,
        @Nullable String cosigned) {

    private static final LogState EMPTY = new LogState(0, List.of(), 1, 0, null, null, null, null);

    private static final Logger LOG = Logger.getLogger(LogState.class);
    private static final Sql READ_LOG = Sql.named("derived/log/read_log");
    private static final Sql LOCK_LOG = Sql.named("derived/log/lock_log");
    private static final Sql BEGIN_LOG = Sql.named("derived/log/begin_log");
    private static final Sql HALT_LOG = Sql.named("derived/log/halt_log");

    static LogState of(Row row) {
        long size = row.getLong("size");
        return new LogState(
                size,
                CompactRange.of(0, size, row.getBuffer("frontier").getBytes()).hashes(),
                row.getInteger("epoch"),
                row.getLong("signed_size"),
                row.getString("checkpoint"),
                row.getString("incarnation"),
                row.getString("halted"),
                row.getString("cosigned"));
    }

    /** A project without a row has an empty log. */
    static Uni<LogState> read(Pool pool, UUID projectId) {
        return DatabaseFailure.retried(READ_LOG.bind("project_id", projectId).execute(pool))
                .map(rows -> StreamSupport.stream(rows.spliterator(), false)
                        .map(LogState::of)
                        .findFirst()
                        .orElse(EMPTY));
    }

    static Uni<Map<UUID, LogState>> lockExisting(SqlConnection connection, List<UUID> projectIds) {
        return LOCK_LOG.bind("project_id", projectIds.toArray(UUID[]::new))
                .execute(connection)
                .map(rows -> StreamSupport.stream(rows.spliterator(), false)
                        .collect(Collectors.toMap(row -> row.getUUID("project_id"), LogState::of)));
    }

    /** Creates missing rows. */
    static Uni<Map<UUID, LogState>> lock(SqlConnection connection, List<UUID> projectIds) {
        return lockExisting(connection, projectIds).chain(states -> {
            if (states.size() == projectIds.size()) {
                return Uni.createFrom().item(states);
            }
            return begin(connection, projectIds)
                    .chain(() -> lockExisting(connection, projectIds))
                    .invoke(found -> {
                        if (found.size() < projectIds.size()) {
                            throw new IllegalStateException(
                                    "of the projects " + projectIds + " only " + found.keySet() + " have a log");
                        }
                    });
        });
    }

    static Uni<Void> begin(SqlConnection connection, List<UUID> projectIds) {
        return BEGIN_LOG
                .bind("project_id", projectIds.toArray(UUID[]::new))
                .execute(connection)
                .replaceWithVoid();
    }

    /** Runs in the caller's transaction, and logs an error. */
    static Uni<Void> halt(SqlConnection connection, UUID projectId, String reason) {
        return HALT_LOG.bind("project_id", projectId)
                .bind("reason", reason)
                .execute(connection)
                .invoke(rows -> {
                    if (rows.rowCount() > 0) {
                        LOG.errorf(
                                "The log of project %s is halted: %s. Nothing is signed for it until an operator has"
                                        + " looked at it; appends continue",
                                projectId, reason);
                    }
                })
                .replaceWithVoid();
    }

    CompactRange tree() {
        return CompactRange.of(0, size, frontier);
    }

    LogState withoutTree() {
        return new LogState(0, List.of(), epoch, signedSize, note, incarnation, halted, cosigned);
    }

    /** Null if there is no note. */
    @Nullable
    Checkpoint checkpoint() {
        return note == null ? null : Checkpoint.of(Note.parse(note));
    }
}
