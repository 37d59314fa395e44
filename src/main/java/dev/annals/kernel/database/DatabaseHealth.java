package dev.annals.kernel.database;

import dev.annals.kernel.config.AnnalsConfig;
import io.smallrye.health.api.AsyncHealthCheck;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.eclipse.microprofile.health.HealthCheckResponse;
import org.eclipse.microprofile.health.Readiness;
import org.jspecify.annotations.Nullable;

/**
 * Reports whether the database answers in time on the connections that requests use. At most one query is under way: queries
 * without an answer would use up the connections.
 */
@Readiness
@Singleton
class DatabaseHealth implements AsyncHealthCheck {

    private final Pool pool;
    private final Duration limit;
    private final AtomicReference<@Nullable Uni<Answer>> underWay = new AtomicReference<>();

    private record Answer(boolean up, @Nullable String serves) {}

    DatabaseHealth(@Reads Pool pool, AnnalsConfig config) {
        this.pool = pool;
        this.limit = config.database().connectTimeout();
    }

    @Override
    public Uni<HealthCheckResponse> call() {
        return Uni.createFrom()
                .deferred(this::answers)
                .ifNoItem()
                .after(limit)
                .recoverWithItem(new Answer(false, "no answer within " + limit.toMillis() + " ms"))
                .map(answer -> HealthCheckResponse.named("Database")
                        .status(answer.up)
                        .withData("serves", answer.serves)
                        .build());
    }

    private Uni<Answer> answers() {
        Uni<Answer> asked = underWay.get();
        if (asked == null) {
            Uni<Answer> question = pool.withConnection(connection ->
                            connection.query("select pg_is_in_recovery()").execute())
                    .map(rows -> new Answer(
                            true,
                            rows.iterator().next().getBoolean(0)
                                    ? "reads alone: the database is a hot standby"
                                    : "reads and writes"))
                    .onFailure()
                    .recoverWithItem(failure -> new Answer(
                            false, failure instanceof UnusableSessionException e ? e.getMessage() : "nothing now"))
                    .onTermination()
                    .invoke(() -> underWay.set(null))
                    .memoize()
                    .indefinitely();
            asked = underWay.compareAndSet(null, question) ? question : answers();
        }
        return asked;
    }
}
