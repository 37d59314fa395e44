package dev.annals.tools.ops;

import dev.annals.access.caller.Requires;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.smallrye.health.SmallRyeHealth;
import io.smallrye.health.SmallRyeHealthReporter;
import io.smallrye.mutiny.Uni;
import jakarta.inject.Singleton;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.time.Duration;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/**
 * Health checks on the API's port for load balancers and container platforms: live, started and ready. The answer is 200, or a
 * problem with 503. Only the management port shows details, at {@code /q/health}.
 */
@Path("/q/health")
@Requires(token = false)
@Singleton
public class PublicHealth {

    /** Checks need no token, and readiness queries the database: at most twice per second. */
    private static final Duration SHARED_FOR = Duration.ofMillis(500);

    private static final Duration LIMIT = Duration.ofSeconds(20);

    private final Uni<Boolean> live;
    private final Uni<Boolean> ready;
    private final Uni<Boolean> started;

    PublicHealth(SmallRyeHealthReporter checks) {
        live = shared(checks::getLivenessAsync);
        ready = shared(checks::getReadinessAsync);
        started = shared(checks::getStartupAsync);
    }

    private static Uni<Boolean> shared(Supplier<Uni<SmallRyeHealth>> check) {
        AtomicLong freshUntil = new AtomicLong();
        return Uni.createFrom()
                .deferred(() -> {
                    // All requests share a check in flight: an expired one would be cancelled.
                    freshUntil.set(Long.MAX_VALUE);
                    return check.get();
                })
                .map(found -> !found.isDown())
                .ifNoItem()
                .after(LIMIT)
                .recoverWithItem(false)
                .onFailure()
                .recoverWithItem(false)
                .invoke(() -> freshUntil.set(System.nanoTime() + SHARED_FOR.toNanos()))
                .memoize()
                .until(() -> System.nanoTime() > freshUntil.get());
    }

    /** Live: if not, the process should be restarted. */
    @GET
    @Path("live")
    public Uni<Response> live() {
        return live.map(PublicHealth::answer);
    }

    /** Ready for requests. */
    @GET
    @Path("ready")
    public Uni<Response> ready() {
        return ready.map(PublicHealth::answer);
    }

    /** Started. */
    @GET
    @Path("started")
    public Uni<Response> started() {
        return started.map(PublicHealth::answer);
    }

    private static Response answer(boolean up) {
        if (!up) {
            throw new ProblemException(
                    ProblemType.UNAVAILABLE,
                    "This instance accepts no requests now: try again, or use another instance. /q/health on the management"
                            + " port shows the cause to its operator.");
        }
        return Response.ok("{\"status\":\"UP\"}", MediaType.APPLICATION_JSON_TYPE)
                .header("Cache-Control", "no-store")
                // annals doctor compares clocks.
                .header("Date", DateTimeFormatter.RFC_1123_DATE_TIME.format(ZonedDateTime.now(ZoneOffset.UTC)))
                .build();
    }
}
