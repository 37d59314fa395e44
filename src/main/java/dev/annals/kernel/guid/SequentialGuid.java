package dev.annals.kernel.guid;

import jakarta.inject.Singleton;
import java.time.Instant;
import java.time.InstantSource;
import java.util.NoSuchElementException;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Draws version 7 UUIDs (RFC 9562, section 5.7). Each is greater, by unsigned bytes, than all that any thread has drawn before
 * from the same generator. Use one generator per process.
 *
 * <p>Layout: 48 bits of Unix milliseconds, 4 bits of version, 12 bits of sub-millisecond fraction (RFC 9562, section 6.2, method
 * 3), 2 bits of variant, and 62 bits of the {@link SipHash} of the time under a secret key, so that no key can be guessed.
 *
 * <p>A <em>tick</em> is 1/4096 ms. A key takes the next tick, or the clock's if that is later. Keys run ahead of a clock that
 * jumps back, and above 4,096,000 keys per second.
 */
@Singleton
public final class SequentialGuid {

    public static final int MAX_BLOCK = 1 << 20;

    private static final int TICKS_PER_MILLI = 4096;
    private static final long NANOS_PER_MILLI = 1_000_000;

    private final AtomicLong lastTick = new AtomicLong();
    private final InstantSource clock;
    private final SipHash hash = SipHash.withRandomKey();

    public SequentialGuid() {
        this(InstantSource.system());
    }

    SequentialGuid(InstantSource clock) {
        this.clock = clock;
    }

    /** Never blocks and never fails. Thread-safe. */
    public UUID next() {
        return key(catchUp(lastTick.incrementAndGet(), 1));
    }

    /**
     * Reserves adjacent keys. No key drawn elsewhere lies between them.
     *
     * @throws IllegalArgumentException if {@code count} is below 1 or above {@link #MAX_BLOCK}
     */
    public Block reserve(int count) {
        if (count < 1 || count > MAX_BLOCK) {
            throw new IllegalArgumentException("A block holds 1 to " + MAX_BLOCK + " keys, not " + count);
        }
        return new Block(catchUp(lastTick.getAndAdd(count) + 1, count), count);
    }

    /** Orders keys by their unsigned bytes, as PostgreSQL does; {@link UUID#compareTo} compares signed halves. */
    public static int compare(UUID left, UUID right) {
        int byTime = Long.compareUnsigned(left.getMostSignificantBits(), right.getMostSignificantBits());
        return byTime != 0
                ? byTime
                : Long.compareUnsigned(left.getLeastSignificantBits(), right.getLeastSignificantBits());
    }

    /** {@code first}, or the first of new ticks if it lies behind the clock. */
    private long catchUp(long first, int count) {
        long now = ticks(clock.instant());
        if (first >= now) {
            return first;
        }
        while (true) {
            long last = lastTick.get();
            if (last >= now) {
                return lastTick.getAndAdd(count) + 1;
            }
            if (lastTick.compareAndSet(last, now + count - 1)) {
                return now;
            }
        }
    }

    private UUID key(long tick) {
        long milliseconds = tick & -TICKS_PER_MILLI;
        long fraction = tick & (TICKS_PER_MILLI - 1);
        long secret = hash.of(tick) & 0x3FFF_FFFF_FFFF_FFFFL;
        return new UUID(milliseconds << 4 | 0x7000 | fraction, 0x8000_0000_0000_0000L | secret);
    }

    private static long ticks(Instant instant) {
        long fraction = instant.getNano() * (long) TICKS_PER_MILLI / NANOS_PER_MILLI;
        return instant.getEpochSecond() * 1000 * TICKS_PER_MILLI + fraction;
    }

    /** Reserved keys, for one thread at a time. */
    public final class Block {
        private final int count;
        private long tick;
        private int left;

        private Block(long firstTick, int count) {
            this.tick = firstTick;
            this.count = count;
            this.left = count;
        }

        /**
         * Draws the next key.
         *
         * @throws NoSuchElementException if all keys of the block are taken
         */
        public UUID next() {
            if (left == 0) {
                throw new NoSuchElementException("All " + count + " keys of this block are taken");
            }
            left--;
            return key(tick++);
        }

        public int remaining() {
            return left;
        }
    }
}
