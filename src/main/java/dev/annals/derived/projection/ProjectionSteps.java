package dev.annals.derived.projection;

import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.Sql;
import io.quarkus.arc.All;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import io.vertx.mutiny.sqlclient.SqlConnection;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.inject.Inject;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;

/**
 * Transactions on projections. Each locks the rows of {@code annals.projection_checkpoint} that it works on, so one transaction at a time,
 * on any instance, works on a projection of a project.
 *
 * <ul>
 *   <li>{@link #take} moves a projection forward, and skips locked checkpoints.
 *   <li>{@link #change} and {@link #removeFirst} change indexed records, and wait for the checkpoints.
 * </ul>
 */
@ApplicationScoped
public class ProjectionSteps {

    private static final Sql CREATE_CHECKPOINTS = Sql.named("derived/projection/create_checkpoints");
    private static final Sql CLAIM_CHECKPOINTS = Sql.named("derived/projection/claim_checkpoints");
    private static final Sql LOCK_CHECKPOINT = Sql.named("derived/projection/lock_checkpoint");
    private static final Sql MOVE_CHECKPOINTS = Sql.named("derived/projection/move_checkpoints");

    private final List<Projection> projections;

    @Inject
    ProjectionSteps(@All List<Projection> projections) {
        this.projections = projections.stream()
                .sorted(Comparator.comparing(Projection::name))
                .toList();
    }

    /** @param outdated the data belongs to an older generation or version, and must be rebuilt */
    private record Checkpoint(UUID projectId, long sequenceId, int generation, boolean outdated) {

        long from() {
            return outdated ? 0 : sequenceId;
        }

        long taken(Map<UUID, Long> to) {
            return to.getOrDefault(projectId, from()) - from();
        }
    }

    List<Projection> projections() {
        return projections;
    }

    /**
     * Indexes the next records of some projects of one database in one transaction.
     *
     * @param pool of the database
     * @return the number of indexed records by project, without projects whose checkpoint is locked elsewhere
     */
    Uni<Map<UUID, Long>> take(Pool pool, Projection projection, List<UUID> projectIds) {
        return pool.withTransaction(connection -> claim(connection, projection, projectIds)
                .chain(checkpoints -> checkpoints.isEmpty()
                        ? Uni.createFrom().item(Map.of())
                        : take(connection, projection, checkpoints)));
    }

    private static Uni<List<Checkpoint>> claim(SqlConnection connection, Projection projection, List<UUID> projectIds) {
        return claimExisting(connection, projection, projectIds)
                .chain(checkpoints -> checkpoints.size() == projectIds.size()
                        ? Uni.createFrom().item(checkpoints)
                        : create(connection, projection, projectIds)
                                .chain(() -> claimExisting(connection, projection, projectIds)));
    }

    private static Uni<Void> create(SqlConnection connection, Projection projection, List<UUID> projectIds) {
        return bind(CREATE_CHECKPOINTS, projection, projectIds)
                .execute(connection)
                .replaceWithVoid();
    }

    private static Uni<List<Checkpoint>> claimExisting(
            SqlConnection connection, Projection projection, List<UUID> projectIds) {
        return bind(CLAIM_CHECKPOINTS, projection, projectIds)
                .execute(connection)
                .map(rows -> StreamSupport.stream(rows.spliterator(), false)
                        .map(row -> new Checkpoint(
                                row.getUUID("project_id"),
                                row.getLong("sequence_id"),
                                row.getInteger("generation"),
                                row.getBoolean("outdated")))
                        .toList());
    }

    private static Binds bind(Sql statement, Projection projection, List<UUID> projectIds) {
        return statement.bind("project_id", projectIds.toArray(UUID[]::new)).bind("projection", projection.name());
    }

    private static Uni<Map<UUID, Long>> take(
            SqlConnection connection, Projection projection, List<Checkpoint> checkpoints) {
        Map<UUID, Long> from = new HashMap<>();
        checkpoints.forEach(checkpoint -> from.put(checkpoint.projectId(), checkpoint.from()));
        return inTurn(
                        checkpoints.stream().filter(Checkpoint::outdated).toList(),
                        outdated -> projection.reset(connection, outdated.projectId()))
                .chain(() -> project(connection, projection, from))
                .call(to -> move(connection, projection, checkpoints, to))
                .map(to -> checkpoints.stream().collect(Collectors.toMap(Checkpoint::projectId, at -> at.taken(to))));
    }

    private static Uni<Map<UUID, Long>> project(SqlConnection connection, Projection projection, Map<UUID, Long> from) {
        if (from.size() > 1) {
            return projection.projectTogether(connection, from);
        }
        Map.Entry<UUID, Long> only = from.entrySet().iterator().next();
        return projection.project(connection, only.getKey(), only.getValue()).map(to -> Map.of(only.getKey(), to));
    }

    private static Uni<Void> move(
            SqlConnection connection, Projection projection, List<Checkpoint> checkpoints, Map<UUID, Long> to) {
        List<Checkpoint> moved = checkpoints.stream()
                .filter(at -> at.outdated() || at.taken(to) > 0)
                .toList();
        if (moved.isEmpty()) {
            return Uni.createFrom().voidItem();
        }
        return bind(
                        MOVE_CHECKPOINTS,
                        projection,
                        moved.stream().map(Checkpoint::projectId).toList())
                .bind("generation", moved.get(0).generation())
                .bind(
                        "sequence_id",
                        moved.stream().map(at -> at.from() + at.taken(to)).toArray(Long[]::new))
                .execute(connection)
                .replaceWithVoid();
    }

    /**
     * Changes a record and its projections in the caller's transaction. Waits for the checkpoints of all projections of the project, always
     * locked in one order.
     */
    public <T> Uni<T> change(SqlConnection connection, UUID projectId, long sequenceId, Supplier<Uni<T>> change) {
        return lockAll(connection, projectId).chain(checkpoints -> {
            List<Projection> holders = projections.stream()
                    .filter(projection -> at(checkpoints, projection) >= sequenceId)
                    .toList();
            return inTurn(holders, projection -> projection.retract(connection, projectId, sequenceId))
                    .chain(change::get)
                    .call(() -> inTurn(holders, projection -> projection.include(connection, projectId, sequenceId)));
        });
    }

    /**
     * Removes the first records of a feed in the caller's transaction. Locks as {@link #change} does.
     *
     * @param removal returns the sequence id of the last removed record; 0 if it removed none
     */
    public Uni<Long> removeFirst(SqlConnection connection, UUID projectId, Supplier<Uni<Long>> removal) {
        return lockAll(connection, projectId)
                .chain(checkpoints -> removal.get()
                        .call(horizon -> horizon == 0
                                ? Uni.createFrom().voidItem()
                                : inTurn(
                                        projections.stream()
                                                .filter(projection -> at(checkpoints, projection) > horizon)
                                                .toList(),
                                        projection -> projection.afterRemoval(connection, projectId, horizon))));
    }

    private static long at(Map<String, Long> checkpoints, Projection projection) {
        return checkpoints.getOrDefault(projection.name(), 0L);
    }

    private Uni<Map<String, Long>> lockAll(SqlConnection connection, UUID projectId) {
        Map<String, Long> checkpoints = new HashMap<>();
        return inTurn(
                        projections,
                        projection -> create(connection, projection, List.of(projectId))
                                .chain(() -> LOCK_CHECKPOINT
                                        .bind("project_id", projectId)
                                        .bind("projection", projection.name())
                                        .execute(connection))
                                .invoke(rows -> checkpoints.put(
                                        projection.name(),
                                        rows.iterator().next().getLong("sequence_id")))
                                .replaceWithVoid())
                .replaceWith(checkpoints);
    }

    private static <T> Uni<Void> inTurn(List<T> all, Function<T, Uni<Void>> each) {
        return Multi.createFrom()
                .iterable(all)
                .onItem()
                .transformToUniAndConcatenate(one -> each.apply(one).replaceWith(true))
                .collect()
                .last()
                .replaceWithVoid();
    }
}
