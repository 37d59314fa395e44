package dev.annals.kernel.memory;

import io.micrometer.core.instrument.MeterRegistry;
import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.subscription.UniEmitter;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.inject.Inject;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Limits the memory of bodies, pages and answers, of all callers together and of each.
 *
 * <p>Code takes the memory before it reads, and returns it once the request is answered. If there is not enough,
 * {@link #tryTake} refuses, and {@link #take} waits in turn for a while. A caller at its own limit delays no others.
 */
@ApplicationScoped
public class MemoryBudget {

    private final Vertx vertx;
    private final long limit;
    private final long holderLimit;
    private final int maxWaiting;
    private final Duration maxWait;

    /** The rest is for other objects, such as parsed records. */
    private static final int HEAP_PERCENT = 35;
    /** For one JSON body of 16 MiB. */
    private static final long LARGEST_BODY = 67_108_864;
    /** Behind more waiting requests, a client gives up. */
    private static final int MAX_WAITING = 1_024;

    private final AtomicLong held = new AtomicLong();
    private final Map<Object, Long> heldBy = new ConcurrentHashMap<>();
    private final ArrayDeque<Waiter> waiters = new ArrayDeque<>();
    /** The size of {@link #waiters}, readable without their lock. */
    private volatile int waiting;

    @Inject
    MemoryBudget(MemoryConfig config, Vertx vertx, MeterRegistry metrics) {
        this(config, MAX_WAITING, vertx, metrics);
    }

    MemoryBudget(MemoryConfig config, int maxWaiting, Vertx vertx, MeterRegistry metrics) {
        this.vertx = vertx;
        this.limit = config.bytes() > 0 ? config.bytes() : Runtime.getRuntime().maxMemory() / 100 * HEAP_PERCENT;
        this.holderLimit =
                Math.min(limit, config.callerBytes() > 0 ? config.callerBytes() : Math.max(LARGEST_BODY, limit / 4));
        this.maxWaiting = maxWaiting;
        this.maxWait = config.maxWait();
        metrics.gauge("annals.memory.held.bytes", held);
    }

    /** Its fields are guarded by {@link #waiters}. */
    private static final class Waiter {
        final Object holder;
        final long bytes;
        final @Nullable Context context;

        @Nullable
        UniEmitter<? super Reservation> emitter;

        @Nullable
        Reservation granted;

        long timer;

        Waiter(Object holder, long bytes, @Nullable Context context) {
            this.holder = holder;
            this.bytes = bytes;
            this.context = context;
        }
    }

    /** For all holders together. */
    public long limit() {
        return limit;
    }

    public long holderLimit() {
        return holderLimit;
    }

    public long held() {
        return held.get();
    }

    /**
     * Takes memory if there is enough, for this holder and for all.
     *
     * @param holder the owner, such as a project's id
     * @return true if it was taken; {@link #give} must follow
     */
    public boolean tryTake(Object holder, long bytes) {
        boolean[] taken = {false};
        heldBy.compute(holder, (same, own) -> {
            long before = own == null ? 0 : own;
            taken[0] = before + bytes <= holderLimit && addToAll(bytes);
            long after = taken[0] ? before + bytes : before;
            return after == 0 ? null : (Long) after;
        });
        return taken[0];
    }

    public void give(Object holder, long bytes) {
        if (bytes == 0) {
            return;
        }
        heldBy.compute(holder, (same, own) -> {
            long after = (own == null ? 0 : own) - bytes;
            return after <= 0 ? null : (Long) after;
        });
        held.addAndGet(-bytes);
        if (waiting > 0) {
            serve();
        }
    }

    /** Null if there is not enough. */
    public @Nullable Reservation tryReserve(Object holder, long bytes) {
        return tryTake(holder, bytes) ? new Reservation(this, holder, bytes) : null;
    }

    /**
     * Requests are served in order, but none waits for a holder at its own limit.
     *
     * @return the caller closes it, on its own context. Fails with {@link NoMemoryException} if it takes too long, if too many
     *     wait, or if there will never be enough
     */
    public Uni<Reservation> take(Object holder, long bytes) {
        return Uni.createFrom().deferred(() -> {
            Reservation at = waiting == 0 ? tryReserve(holder, bytes) : null;
            if (at != null) {
                return Uni.createFrom().item(at);
            }
            if (bytes > holderLimit) {
                throw new NoMemoryException("The request needs more memory than one caller may have: ask for less.");
            }
            Waiter waiter = new Waiter(holder, bytes, Vertx.currentContext());
            return Uni.createFrom()
                    .<Reservation>emitter(emitter -> await(waiter, emitter))
                    .onCancellation()
                    .invoke(() -> cancelled(waiter));
        });
    }

    private void await(Waiter waiter, UniEmitter<? super Reservation> emitter) {
        synchronized (waiters) {
            if (waiters.size() >= maxWaiting) {
                emitter.fail(new NoMemoryException(
                        "Too many requests are waiting for memory. Send the request again later."));
                return;
            }
            waiter.emitter = emitter;
            waiter.timer = vertx.setTimer(maxWait.toMillis(), timer -> timedOut(waiter));
            waiters.add(waiter);
            waiting = waiters.size();
        }
        // Memory may have been returned before the waiter was visible.
        serve();
    }

    private boolean addToAll(long bytes) {
        long before = held.get();
        // Never more than the limit, not even for a moment: others would be refused what is free.
        while (before + bytes <= limit) {
            if (held.compareAndSet(before, before + bytes)) {
                return true;
            }
            before = held.get();
        }
        return false;
    }

    private void serve() {
        List<Waiter> served = new ArrayList<>();
        synchronized (waiters) {
            for (Iterator<Waiter> all = waiters.iterator(); all.hasNext(); ) {
                Waiter next = all.next();
                next.granted = tryReserve(next.holder, next.bytes);
                if (next.granted != null) {
                    all.remove();
                    served.add(next);
                } else if (heldBy.getOrDefault(next.holder, 0L) + next.bytes <= holderLimit) {
                    // The memory that is returned next is for this one.
                    break;
                }
            }
            waiting = waiters.size();
        }
        for (Waiter next : served) {
            vertx.cancelTimer(next.timer);
            answer(next, emitter -> emitter.complete(next.granted));
        }
    }

    private void timedOut(Waiter waiter) {
        if (remove(waiter)) {
            answer(
                    waiter,
                    emitter -> emitter.fail(new NoMemoryException(
                            "There was no memory for the request in time. Send it again later.")));
            serve();
        }
    }

    /** An abandoned request may have been granted memory at the same moment. */
    private void cancelled(Waiter waiter) {
        vertx.cancelTimer(waiter.timer);
        if (remove(waiter)) {
            serve();
        } else if (waiter.granted != null) {
            waiter.granted.close();
        }
    }

    private boolean remove(Waiter waiter) {
        synchronized (waiters) {
            boolean there = waiters.remove(waiter);
            waiting = waiters.size();
            return there;
        }
    }

    private static void answer(Waiter waiter, Consumer<UniEmitter<? super Reservation>> answer) {
        UniEmitter<? super Reservation> emitter = Objects.requireNonNull(waiter.emitter, "it waits");
        if (waiter.context == null) {
            answer.accept(emitter);
        } else {
            waiter.context.runOnContext(now -> answer.accept(emitter));
        }
    }
}
