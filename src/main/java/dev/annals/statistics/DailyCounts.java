package dev.annals.statistics;

import dev.annals.database.Sql;
import dev.annals.projection.Projection;
import dev.annals.projection.ProjectionConfig;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.SqlConnection;
import io.vertx.mutiny.sqlclient.Tuple;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.inject.Inject;
import java.util.UUID;

/** Counts records by UTC day of their timestamp, action, actor and outcome. */
@ApplicationScoped
public class DailyCounts implements Projection {

    private static final String PROJECT_STATISTICS = Sql.named("project_statistics");
    private static final String RESET_STATISTICS = Sql.named("reset_statistics");

    private final StatisticsConfig config;
    private final int records;

    @Inject
    DailyCounts(StatisticsConfig config, ProjectionConfig projections) {
        this(config, projections.records());
    }

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
        return connection
                .preparedQuery(PROJECT_STATISTICS)
                .execute(Tuple.of(projectId, sequenceId, (long) records, config.combinations()))
                .map(rows -> rows.iterator().next().getLong("sequence_id"));
    }

    @Override
    public Uni<Void> reset(SqlConnection connection, UUID projectId) {
        return connection
                .preparedQuery(RESET_STATISTICS)
                .execute(Tuple.of(projectId))
                .replaceWithVoid();
    }
}
