package dev.annals.core.append;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/**
 * Lanes with requests that made a transaction fail in which there were others, too. For some time they are written apart, so
 * that what one client sends again and again costs the others little: after the first time for a second, and twice as long
 * whenever it happens again soon.
 */
final class Suspects {

    private static final long FIRST_NANOS = Duration.ofSeconds(1).toNanos();
    private static final long LONGEST_NANOS = Duration.ofMinutes(1).toNanos();
    private static final int FORGET_FROM = 1_000;

    private final Map<AppendQueue.Key, Suspicion> lanes = new ConcurrentHashMap<>();
    private final LongSupplier nanoTime;

    /** By this clock. */
    Suspects(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /**
     * @param until in nanoseconds
     * @param length how long it takes, in nanoseconds
     */
    private record Suspicion(long until, long length) {

        boolean isOver(long now) {
            return now - until > 0;
        }

        /** Whether it ended so long ago that the next one is the first again. */
        boolean isForgotten(long now) {
            return now - until > length;
        }
    }

    /** Notes that a request of this lane failed. */
    void add(AppendQueue.Key lane) {
        long now = nanoTime.getAsLong();
        if (lanes.size() > FORGET_FROM) {
            lanes.values().removeIf(suspicion -> suspicion.isForgotten(now));
        }
        lanes.compute(lane, (same, last) -> {
            if (last == null || last.isForgotten(now)) {
                return new Suspicion(now + FIRST_NANOS, FIRST_NANOS);
            }
            long length = last.isOver(now) ? Math.min(2 * last.length, LONGEST_NANOS) : last.length;
            return new Suspicion(now + length, length);
        });
    }

    boolean contains(AppendQueue.Key lane) {
        Suspicion suspicion = lanes.get(lane);
        return suspicion != null && !suspicion.isOver(nanoTime.getAsLong());
    }
}
