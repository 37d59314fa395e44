package dev.annals.kernel.http;

import io.smallrye.mutiny.Uni;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Limits how much work of one kind runs and waits. Work whose caller has gone does not begin. Safe for any thread. */
public final class Bulkhead {

    private final int maxRunning;
    private final int maxWaiting;
    private final Duration maxWait;
    private final String refusal;
    private final ArrayDeque<Turn> waiting = new ArrayDeque<>();
    private int running;

    private record Turn(Runnable work, BooleanSupplier isOver) {}

    /**
     * @param maxWait from the request to the end of the work
     * @param refusal the detail of the problem {@code overloaded}
     */
    public Bulkhead(int maxRunning, int maxWaiting, Duration maxWait, String refusal) {
        this.maxRunning = maxRunning;
        this.maxWaiting = maxWaiting;
        this.maxWait = maxWait;
        this.refusal = refusal;
    }

    /** Fails with {@code overloaded} if too many are waiting, or if the work has taken too long; the detail says which. */
    public <T extends @Nullable Object> Uni<T> run(Supplier<Uni<T>> work) {
        return Uni.createFrom().deferred(() -> {
            AtomicBoolean begun = new AtomicBoolean();
            return Uni.createFrom()
                    .<T>emitter(emitter -> {
                        AtomicBoolean over = new AtomicBoolean();
                        emitter.onTermination(() -> over.set(true));
                        Runnable run = () -> {
                            begun.set(true);
                            work.get()
                                    .onTermination()
                                    .invoke(this::next)
                                    .subscribe()
                                    .with(emitter::complete, emitter::fail);
                        };
                        begin(new Turn(run, over::get));
                    })
                    .ifNoItem()
                    .after(maxWait)
                    .failWith(() -> begun.get() ? slow() : overloaded());
        });
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

    private ProblemException slow() {
        return new ProblemException(
                ProblemType.OVERLOADED,
                "There was no answer within " + maxWait.toMillis() / 1_000.0
                        + " seconds. Send the request again later.");
    }

    private ProblemException overloaded() {
        return new ProblemException(ProblemType.OVERLOADED, refusal);
    }
}
