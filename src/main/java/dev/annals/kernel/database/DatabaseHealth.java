package dev.annals.kernel.database;

import dev.annals.kernel.config.AnnalsConfig;
import io.smallrye.health.api.AsyncHealthCheck;
import io.smallrye.mutiny.Uni;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.eclipse.microprofile.health.HealthCheckResponse;
import org.eclipse.microprofile.health.HealthCheckResponseBuilder;
import org.eclipse.microprofile.health.Readiness;

/**
 * Reports whether home answers in time on the connections that requests use, and names each member that does not: it costs the
 * service only the member's projects. At most one query to each is under way: queries without an answer would use up the
 * connections.
 */
@Readiness
@Singleton
class DatabaseHealth implements AsyncHealthCheck {

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
                idle -> database.reads()
                        .withConnection(connection ->
                                connection.query("select pg_is_in_recovery()").execute())
                        .map(rows -> new Answer(
                                true,
                                rows.iterator().next().getBoolean(0)
                                        ? "reads alone: the database is a hot standby"
                                        : "reads and writes"))
                        .onFailure()
                        .recoverWithItem(failure -> new Answer(
                                false,
                                failure instanceof UnusableSessionException e
                                        ? String.valueOf(e.getMessage())
                                        : "nothing now"))
                        .onTermination()
                        .invoke(() -> underWay.remove(database))
                        .memoize()
                        .indefinitely());
    }
}
