package dev.annals.core.sequence;

import io.smallrye.mutiny.Uni;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.atomic.AtomicLong;

/**
 * {@link SequenceKind#COMPOSITE}: a zero bit, the number of the process with its {@value #SPREAD_BITS} bits reversed, so that
 * even a few processes lie far apart, and {@value #TIME_BITS} bits of time in quarters of a millisecond since 2025. A wrong
 * clock affects only the order.
 */
final class CompositeSequence implements SequenceGenerator {

    static final int SPREAD_BITS = 20;
    static final int TIME_BITS = 43;

    private static final long EPOCH = Instant.parse("2025-01-01T00:00:00Z").toEpochMilli();
    private static final int TICKS_PER_MILLI = 4;

    private final SequenceRow row;
    private final InstantSource clock;
    private final Uni<Long> spread;
    private final AtomicLong lastTick = new AtomicLong();
    private volatile boolean failed;

    CompositeSequence(SequenceRow row, InstantSource clock) {
        this.row = row;
        this.clock = clock;
        // A failure is not remembered: the next caller tries again.
        this.spread = row.reserveAll(1)
                .map(range -> spreadOf(range.first()))
                .onFailure()
                .invoke(failure -> failed = true)
                .memoize()
                .until(this::takeFailed);
    }

    private boolean takeFailed() {
        boolean was = failed;
        failed = false;
        return was;
    }

    static long spreadOf(long process) {
        return Long.reverse(process) >>> 1 & -1L << TIME_BITS;
    }

    @Override
    public Uni<SequenceBlock> next(int count) {
        SequenceGenerator.requireCount(count);
        return spread.map(part -> {
            long last = lastTick.updateAndGet(tick -> Math.max(tick, now() - 1) + count);
            if (last >= 1L << TIME_BITS) {
                throw row.exhausted();
            }
            return SequenceBlock.adjacent(part | (last - count + 1), count);
        });
    }

    private long now() {
        return Math.max(0, (clock.millis() - EPOCH) * TICKS_PER_MILLI);
    }
}
