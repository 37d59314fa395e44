package dev.annals.kernel.database;

import dev.annals.kernel.config.AnnalsConfig;
import io.smallrye.health.api.AsyncHealthCheck;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import io.vertx.pgclient.PgException;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.eclipse.microprofile.health.HealthCheckResponse;
import org.eclipse.microprofile.health.HealthCheckResponseBuilder;
import org.eclipse.microprofile.health.Readiness;

/**
 * Reports whether home answers in time what every request needs, and names each member that does not: it costs the service only the
 * member's projects. No request takes the connections for this. At most one query to each is under way: queries without an answer would use up the
 * connections.
 */
@Readiness
@Singleton
class DatabaseHealth implements AsyncHealthCheck {

    private static final Sql CHECK_REQUESTS = Sql.named("kernel/database/check_requests");
    private static final String ADVICE =
            ": requests fail. If the database was restored without privileges, annals migrate grants them again.";

    private final Databases databases;
    private final Duration limit;
    private final Map<Database, Uni<Answer>> underWay = new ConcurrentHashMap<>();

    private record Answer(boolean up, String serves) {}

    DatabaseHealth(Databases databases, AnnalsConfig config) {
        this.databases = databases;
        this.limit = config.database().connectTimeout();
    }

    @Override
    public Uni<HealthCheckResponse> call() {
        Uni<List<Answer>> answers = Uni.join()
                .all(databases.all().stream().map(this::answerInTime).toList())
                .andCollectFailures();
        return answers.map(all -> {
            HealthCheckResponseBuilder health =
                    HealthCheckResponse.named("Database").status(all.get(0).up).withData("serves", all.get(0).serves);
            for (int i = 1; i < all.size(); i++) {
                health.withData(databases.all().get(i).name(), all.get(i).serves);
            }
            return health.build();
        });
    }

    private Uni<Answer> answerInTime(Database database) {
        return Uni.createFrom()
                .deferred(() -> answer(database))
                .ifNoItem()
                .after(limit)
                .recoverWithItem(new Answer(false, "no answer within " + limit.toMillis() + " ms"));
    }

    private Uni<Answer> answer(Database database) {
        return underWay.computeIfAbsent(
                database,
                idle -> CHECK_REQUESTS
                        .execute(database.polls())
                        .map(DatabaseHealth::answer)
                        .onFailure()
                        .recoverWithItem(failure -> new Answer(false, reason(failure)))
                        .onTermination()
                        .invoke(() -> underWay.remove(database))
                        .memoize()
                        .indefinitely());
    }

    private static Answer answer(RowSet<Row> rows) {
        for (Row row : rows) {
            return new Answer(
                    true,
                    row.getBoolean("standby") ? "reads alone: the database is a hot standby" : "reads and writes");
        }
        return new Answer(false, "annals_service lacks privileges" + ADVICE);
    }

    private static String reason(Throwable failure) {
        if (failure instanceof UnusableSessionException e) {
            return String.valueOf(e.getMessage());
        }
        // Privileges, names, schemas.
        return failure instanceof PgException error
                        && (error.getSqlState().startsWith("42")
                                || error.getSqlState().startsWith("3F"))
                ? error.getErrorMessage() + ADVICE
                : "nothing now";
    }
}
