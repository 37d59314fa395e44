package dev.annals.edges.delivery;

import dev.annals.kernel.quarantine.ClientLoops;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.runtime.StartupEvent;
import io.vertx.core.Vertx;
import jakarta.annotation.Priority;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.time.Duration;

/** The event loops of connections to sinks. A sink that keeps them busy delays other sinks, and no request. */
@ApplicationScoped
class SinkLoops {

    private static final int LOOPS = 2;
    /** For names that are looked up. */
    private static final int WORKERS = 16;
    /** Sinks close their clients before. */
    private static final int LAST = Integer.MAX_VALUE;

    private final Vertx vertx;

    SinkLoops(DeliveryConfig config) {
        // A sink gives a login up before, and says so.
        Duration loginTime = config.timeout().multipliedBy(2);
        this.vertx = ClientLoops.start(LOOPS, WORKERS, loginTime, BoundedScram::isBounded);
    }

    /** Not with the first sink, whose request would be on another event loop. */
    void start(@Observes StartupEvent event) {}

    Vertx vertx() {
        return vertx;
    }

    void stop(@Observes @Priority(LAST) ShutdownEvent event) {
        vertx.close().onFailure(failure -> {});
    }
}
