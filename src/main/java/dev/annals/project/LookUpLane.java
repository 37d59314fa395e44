package dev.annals.project;

import dev.annals.http.ProblemException;
import dev.annals.http.ProblemType;
import io.smallrye.mutiny.Uni;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Runs a few look-ups at a time; a limited number may wait for a while. */
final class LookUpLane {

    private final int maxRunning;
    private final int maxWaiting;
    private final Duration maxWait;
    private final ArrayDeque<Runnable> waiting = new ArrayDeque<>();
    private int running;

    LookUpLane(int maxRunning, int maxWaiting, Duration maxWait) {
        this.maxRunning = maxRunning;
        this.maxWaiting = maxWaiting;
        this.maxWait = maxWait;
    }

    /** Runs a look-up in its turn. Fails with {@code overloaded} if too many are waiting, or if it has waited too long. */
    <T> Uni<@Nullable T> run(Supplier<Uni<@Nullable T>> lookUp) {
        return Uni.createFrom()
                .<@Nullable T>emitter(emitter -> begin(() -> lookUp.get()
                        .onTermination()
                        .invoke(this::next)
                        .subscribe()
                        .with(emitter::complete, emitter::fail)))
                .ifNoItem()
                .after(maxWait)
                .failWith(LookUpLane::overloaded);
    }

    private void begin(Runnable lookUp) {
        synchronized (waiting) {
            if (running == maxRunning) {
                if (waiting.size() >= maxWaiting) {
                    throw overloaded();
                }
                waiting.add(lookUp);
                return;
            }
            running++;
        }
        lookUp.run();
    }

    private void next() {
        Runnable next;
        synchronized (waiting) {
            next = waiting.poll();
            if (next == null) {
                running--;
                return;
            }
        }
        next.run();
    }

    private static ProblemException overloaded() {
        return new ProblemException(
                ProblemType.OVERLOADED, "Too many tokens are being looked up. Send the request again later.");
    }
}
