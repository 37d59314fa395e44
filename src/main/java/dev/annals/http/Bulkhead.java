package dev.annals.http;

import io.smallrye.mutiny.Uni;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Lets a few pieces of work of one kind run at a time; a limited number may wait for a while. Safe for any thread. */
public final class Bulkhead {

    private final int maxRunning;
    private final int maxWaiting;
    private final Duration maxWait;
    private final String refusal;
    private final ArrayDeque<Runnable> waiting = new ArrayDeque<>();
    private int running;

    /**
     * @param maxWait from asking to the end of the work
     * @param refusal what the problem {@code overloaded} tells those for whom there is no room
     */
    public Bulkhead(int maxRunning, int maxWaiting, Duration maxWait, String refusal) {
        this.maxRunning = maxRunning;
        this.maxWaiting = maxWaiting;
        this.maxWait = maxWait;
        this.refusal = refusal;
    }

    /** Runs work in its turn. Fails with {@code overloaded} if too many are waiting, or if it has taken too long. */
    public <T extends @Nullable Object> Uni<T> run(Supplier<Uni<T>> work) {
        return Uni.createFrom()
                .<T>emitter(emitter -> begin(() -> work.get()
                        .onTermination()
                        .invoke(this::next)
                        .subscribe()
                        .with(emitter::complete, emitter::fail)))
                .ifNoItem()
                .after(maxWait)
                .failWith(this::overloaded);
    }

    private void begin(Runnable work) {
        synchronized (waiting) {
            if (running == maxRunning) {
                if (waiting.size() >= maxWaiting) {
                    throw overloaded();
                }
                waiting.add(work);
                return;
            }
            running++;
        }
        work.run();
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

    private ProblemException overloaded() {
        return new ProblemException(ProblemType.OVERLOADED, refusal);
    }
}
