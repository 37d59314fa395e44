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
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/**
 * What a load balancer or a container platform asks on the API's port: whether the service is alive, has started and is
 * ready. The answer is 200, or a problem with 503. Details are only on the management port, at {@code /q/health}.
 */
@Path("/q/health")
@Requires(token = false)
@Singleton
public class PublicHealth {

    /** Anyone may ask, and readiness asks the database. However many ask, the database is asked twice per second. */
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
                    // While a check is in flight, everyone waits for it: an expired one would be cancelled.
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

    /** Whether the process works; if not, it should be restarted. */
    @GET
    @Path("live")
    public Uni<Response> live() {
        return live.map(PublicHealth::answer);
    }

    /** Whether to send requests here. */
    @GET
    @Path("ready")
    public Uni<Response> ready() {
        return ready.map(PublicHealth::answer);
    }

    /** Whether the start has finished. */
    @GET
    @Path("started")
    public Uni<Response> started() {
        return started.map(PublicHealth::answer);
    }

    private static Response answer(boolean up) {
        if (!up) {
            throw new ProblemException(
                    ProblemType.UNAVAILABLE,
                    "This instance takes no requests now: try again, or ask another. Its operator sees why at /q/health"
                            + " on the management port.");
        }
        return Response.ok("{\"status\":\"UP\"}", MediaType.APPLICATION_JSON_TYPE)
                .header("Cache-Control", "no-store")
                .build();
    }
}
