package dev.annals.kernel.database;

import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import java.time.Duration;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Connects a pool to its database. While the database refuses connections, one attempt is made at a time, and its failure fails
 * all waiting callers. A pool by itself tries for each caller at once; every attempt costs the server a process and a login.
 * Thread-safe.
 */
final class ConnectAttempts {

    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);
    /** Short, so that a database that returns is soon noticed. */
    private static final Duration LONGEST_PAUSE = Duration.ofMillis(500);

    private final Vertx vertx;
    private int failures;
    private long failedAt;
    private @Nullable Future<Void> underWay;

    ConnectAttempts(Vertx vertx) {
        this.vertx = vertx;
    }

    /** Makes an attempt, at once if the last one succeeded. */
    <C> Future<C> connect(Supplier<Future<C>> attempt) {
        Promise<Void> told = Promise.promise();
        Future<Void> other;
        long pause;
        synchronized (this) {
            pause = pauseMillis();
            other = underWay;
            if (pause > 0 && other == null) {
                underWay = told.future();
            }
        }
        if (pause == 0) {
            return attempt.get().onComplete(done -> ended(done.succeeded(), false));
        }
        // No context: a pool accepts a connection only in the connection's own context.
        Promise<C> result = Promise.promise();
        if (other == null) {
            vertx.setTimer(
                    pause,
                    // compose() turns an exception into a failure; otherwise the callers would wait for ever.
                    over -> Future.succeededFuture()
                            .compose(now -> attempt.get())
                            .onComplete(done -> {
                                ended(done.succeeded(), true);
                                if (done.succeeded()) {
                                    told.complete();
                                } else {
                                    told.fail(done.cause());
                                }
                                result.handle(done);
                            }));
        } else {
            other.onComplete(done -> {
                if (done.succeeded()) {
                    connect(attempt).onComplete(result);
                } else {
                    result.fail(done.cause());
                }
            });
        }
        return result.future();
    }

    private long pauseMillis() {
        if (failures == 0) {
            return 0;
        }
        Duration pause = DatabaseFailure.backOff(FIRST_PAUSE, LONGEST_PAUSE, failures - 1);
        return Math.max(1, pause.toMillis() - (System.nanoTime() - failedAt) / 1_000_000);
    }

    private synchronized void ended(boolean connected, boolean byItself) {
        if (byItself) {
            underWay = null;
        }
        if (connected) {
            failures = 0;
        } else {
            failures = byItself ? failures + 1 : Math.max(failures, 1);
            failedAt = System.nanoTime();
        }
    }
}
