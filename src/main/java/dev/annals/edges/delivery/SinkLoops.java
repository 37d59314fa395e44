package dev.annals.edges.delivery;

import dev.annals.kernel.quarantine.ClientLoops;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import jakarta.annotation.Priority;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.time.Duration;
import java.util.concurrent.Callable;

/** The event loops of connections to sinks. A sink that keeps them busy delays other sinks, but no request. */
@ApplicationScoped
class SinkLoops {

    private static final int LOOPS = 2;
    /** They look up names. */
    private static final int WORKERS = 16;
    /** After sinks have closed their clients. */
    private static final int LAST = Integer.MAX_VALUE;

    private final Vertx vertx;

    SinkLoops(DeliveryConfig config) {
        // The sink ends a slow login earlier, with a message of its own.
        Duration loginTime = config.timeout().multipliedBy(2);
        this.vertx = ClientLoops.start(LOOPS, WORKERS, loginTime, BoundedScram::isBounded);
    }

    /** Otherwise the first request for a sink would start the loops on its own event loop. */
    void start(@Observes StartupEvent event) {}

    Vertx vertx() {
        return vertx;
    }

    /** Does work that blocks on a worker thread. */
    static <T> Uni<T> blocking(Vertx vertx, Callable<T> work) {
        return Uni.createFrom()
                .completionStage(() -> vertx.executeBlocking(work, false).toCompletionStage());
    }

    void stop(@Observes @Priority(LAST) ShutdownEvent event) {
        vertx.close().onFailure(failure -> {});
    }
}
