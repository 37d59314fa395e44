package dev.annals.kernel.http;

import io.vertx.core.Vertx;
import jakarta.annotation.PreDestroy;
import jakarta.enterprise.context.ApplicationScoped;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Checks all incoming bodies at an interval: a timer for each would cost more than most bodies. */
@ApplicationScoped
class BodyWatch {

    private static final long LOOK_MILLIS = 1_000;

    private final Set<BodyParts> bodies = ConcurrentHashMap.newKeySet();
    private final Vertx vertx;
    private final long timer;

    BodyWatch(Vertx vertx) {
        this.vertx = vertx;
        this.timer = vertx.setPeriodic(LOOK_MILLIS, now -> look());
    }

    @PreDestroy
    void stop() {
        vertx.cancelTimer(timer);
    }

    void add(BodyParts body) {
        bodies.add(body);
    }

    void remove(BodyParts body) {
        bodies.remove(body);
    }

    private void look() {
        long now = System.nanoTime();
        for (BodyParts body : bodies) {
            if (body.isOld(now)) {
                body.checkOnItsContext();
            }
        }
    }
}
