package dev.annals.derived.statistics;

import dev.annals.derived.projection.Projection;
import dev.annals.derived.projection.Projector;
import dev.annals.kernel.database.Sql;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.SqlConnection;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.inject.Inject;
import java.time.LocalDate;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/**
 * Counts records by UTC day of their timestamp, action and outcome, and separately by these and the actor, so that reads without actors do
 * not depend on the number of actors.
 */
@ApplicationScoped
public class DailyCounts implements Projection {

    private static final Sql PROJECT_STATISTICS = Sql.named("derived/statistics/project_statistics");
    private static final Sql RESET_STATISTICS = Sql.named("derived/statistics/reset_statistics");
    private static final Sql UNCOUNT_RECORD = Sql.named("derived/statistics/uncount_record");
    private static final Sql RECOUNT_RECORD = Sql.named("derived/statistics/recount_record");
    private static final int DAYS_PER_RESET = 100;

    private final StatisticsConfig config;
    private final int records;

    @Inject
    DailyCounts(StatisticsConfig config) {
        this(config, Projector.RECORDS);
    }

    /** @param records the most that a step counts */
    DailyCounts(StatisticsConfig config, int records) {
        this.config = config;
        this.records = records;
    }

    @Override
    public String name() {
        return "statistics";
    }

    @Override
    public Uni<Long> project(SqlConnection connection, UUID projectId, long sequenceId) {
        return projectTogether(connection, Map.of(projectId, sequenceId)).map(taken -> taken.get(projectId));
    }

    @Override
    public Uni<Map<UUID, Long>> projectTogether(SqlConnection connection, Map<UUID, Long> sequenceIds) {
        return PROJECT_STATISTICS
                .bind("project_id", sequenceIds.keySet().toArray(UUID[]::new))
                .bind("sequence_id", sequenceIds.values().toArray(Long[]::new))
                .bind("records", (long) records)
                .bind("combinations", config.combinations())
                .execute(connection)
                .map(rows -> StreamSupport.stream(rows.spliterator(), false)
                        .collect(
                                Collectors.toMap(row -> row.getUUID("project_id"), row -> row.getLong("sequence_id"))));
    }

    @Override
    public Uni<Void> retract(SqlConnection connection, UUID projectId, long sequenceId) {
        return UNCOUNT_RECORD
                .bind("project_id", projectId)
                .bind("sequence_id", sequenceId)
                .execute(connection)
                .replaceWithVoid();
    }

    @Override
    public Uni<Void> include(SqlConnection connection, UUID projectId, long sequenceId) {
        return RECOUNT_RECORD
                .bind("project_id", projectId)
                .bind("sequence_id", sequenceId)
                .bind("combinations", config.combinations())
                .execute(connection)
                .replaceWithVoid();
    }

    @Override
    public Uni<Void> reset(SqlConnection connection, UUID projectId) {
        return Multi.createBy()
                .repeating()
                .uni(AtomicReference<@Nullable LocalDate>::new, after -> resetNext(connection, projectId, after))
                .whilst(more -> more)
                .collect()
                .last()
                .replaceWithVoid();
    }

    // Bounded, so that no statement runs into its time limit.
    private static Uni<Boolean> resetNext(
            SqlConnection connection, UUID projectId, AtomicReference<@Nullable LocalDate> after) {
        return RESET_STATISTICS
                .bind("project_id", projectId)
                .bind("after", after.get())
                .bind("days", DAYS_PER_RESET)
                .execute(connection)
                .map(rows -> {
                    after.set(rows.iterator().next().getLocalDate("last"));
                    return after.get() != null;
                });
    }
}
