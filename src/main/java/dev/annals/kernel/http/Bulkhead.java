package dev.annals.kernel.http;

import io.smallrye.mutiny.Uni;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Lets a few pieces of work of one kind run at a time; a limited number may wait for a while. What nobody waits for any more does not begin.
 * Safe for any thread.
 */
public final class Bulkhead {

    private final int maxRunning;
    private final int maxWaiting;
    private final Duration maxWait;
    private final String refusal;
    private final ArrayDeque<Turn> waiting = new ArrayDeque<>();
    private int running;

    /**
     * What waits for its turn.
     *
     * @param isOver whether nobody wants it any more
     */
    private record Turn(Runnable work, BooleanSupplier isOver) {}

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
                .<T>emitter(emitter -> {
                    AtomicBoolean over = new AtomicBoolean();
                    emitter.onTermination(() -> over.set(true));
                    Runnable begun = () -> work.get()
                            .onTermination()
                            .invoke(this::next)
                            .subscribe()
                            .with(emitter::complete, emitter::fail);
                    begin(new Turn(begun, over::get));
                })
                .ifNoItem()
                .after(maxWait)
                .failWith(this::overloaded);
    }

    private void begin(Turn turn) {
        synchronized (waiting) {
            if (running == maxRunning) {
                if (waiting.size() >= maxWaiting) {
                    throw overloaded();
                }
                waiting.add(turn);
                return;
            }
            running++;
        }
        turn.work.run();
    }

    private void next() {
        Turn next;
        synchronized (waiting) {
            do {
                next = waiting.poll();
            } while (next != null && next.isOver.getAsBoolean());
            if (next == null) {
                running--;
                return;
            }
        }
        next.work.run();
    }

    private ProblemException overloaded() {
        return new ProblemException(ProblemType.OVERLOADED, refusal);
    }
}
