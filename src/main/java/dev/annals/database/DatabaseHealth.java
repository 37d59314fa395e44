package dev.annals.database;

import dev.annals.config.AnnalsConfig;
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
 * Says whether the database answers, in time, on the connections that requests use. One question is under way at a time,
 * however often it is asked: those that nobody answers would use up the connections.
 */
@Readiness
@Singleton
class DatabaseHealth implements AsyncHealthCheck {

    private final Pool pool;
    private final Duration limit;
    private final AtomicReference<@Nullable Uni<Boolean>> underWay = new AtomicReference<>();

    DatabaseHealth(@Reads Pool pool, AnnalsConfig config) {
        this.pool = pool;
        this.limit = config.database().readyTimeout();
    }

    @Override
    public Uni<HealthCheckResponse> call() {
        return Uni.createFrom()
                .deferred(this::answers)
                .ifNoItem()
                .after(limit)
                .recoverWithItem(false)
                .map(up -> HealthCheckResponse.named("Database").status(up).build());
    }

    private Uni<Boolean> answers() {
        Uni<Boolean> asked = underWay.get();
        if (asked == null) {
            Uni<Boolean> question = pool.query("select 1")
                    .execute()
                    .replaceWith(true)
                    .onFailure()
                    .recoverWithItem(false)
                    .onTermination()
                    .invoke(() -> underWay.set(null))
                    .memoize()
                    .indefinitely();
            asked = underWay.compareAndSet(null, question) ? question : answers();
        }
        return asked;
    }
}
