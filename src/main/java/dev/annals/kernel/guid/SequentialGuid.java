package dev.annals.kernel.guid;

import jakarta.inject.Singleton;
import java.time.Instant;
import java.time.InstantSource;
import java.util.NoSuchElementException;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Draws sequential GUIDs: version 7 UUIDs (RFC 9562, section 5.7). Each is greater, by unsigned bytes, than all that any thread
 * has drawn before from the same generator.
 *
 * <p>Layout, from the first byte: 48 bits of Unix milliseconds, 4 bits of version, 12 bits of sub-millisecond fraction (RFC
 * 9562, section 6.2, method 3), 2 bits of variant, 62 bits that are the {@link SipHash} of the preceding time, under a secret
 * key from a secure source. Keys of two generators differ, no key can be guessed from any number of others, and the keys of
 * many processes all lie near the current time, at the end of an index.
 *
 * <p>The first 60 bits of time are one number, the <em>tick</em>: 1/4096 ms, about 244 ns. Every key takes the tick after the
 * last one. If that lies behind the clock, it jumps to the clock; if the clock stands still or jumps back, the ticks continue
 * from the last one. More than 4,096,000 keys per second run ahead of the clock, one tick for each key too many; the clock
 * catches up when fewer are drawn.
 *
 * <p>Use one generator per process: the keys of each generator are in order, but not those of two generators together.
 */
@Singleton
public final class SequentialGuid {

    /** The most keys one block may hold. */
    public static final int MAX_BLOCK = 1 << 20;

    private static final int TICKS_PER_MILLI = 4096;
    private static final long NANOS_PER_MILLI = 1_000_000;

    private final AtomicLong lastTick = new AtomicLong();
    private final InstantSource clock;
    private final SipHash hash = SipHash.withRandomKey();

    /** A generator on the system's clock. */
    public SequentialGuid() {
        this(InstantSource.system());
    }

    /** @param clock the clock that keys follow; only its milliseconds since 1970 and their fraction count */
    SequentialGuid(InstantSource clock) {
        this.clock = clock;
    }

    /** Draws the next key. Never blocks, never fails; any thread may call it. */
    public UUID next() {
        return key(catchUp(lastTick.incrementAndGet(), 1));
    }

    /**
     * Reserves {@code count} adjacent keys in one step, for a caller that will need them all. No key drawn elsewhere lies
     * between them.
     *
     * @throws IllegalArgumentException if {@code count} is below 1 or above {@link #MAX_BLOCK}
     */
    public Block reserve(int count) {
        if (count < 1 || count > MAX_BLOCK) {
            throw new IllegalArgumentException("A block holds 1 to " + MAX_BLOCK + " keys, not " + count);
        }
        return new Block(catchUp(lastTick.getAndAdd(count) + 1, count), count);
    }

    /**
     * Orders keys by their unsigned bytes, as PostgreSQL orders its {@code uuid}; {@link UUID#compareTo} compares
     * signed halves and so puts the upper half of all keys first.
     *
     * @return negative, zero or positive, as {@link java.util.Comparator#compare} has it
     */
    public static int compare(UUID left, UUID right) {
        int byTime = Long.compareUnsigned(left.getMostSignificantBits(), right.getMostSignificantBits());
        return byTime != 0
                ? byTime
                : Long.compareUnsigned(left.getLeastSignificantBits(), right.getLeastSignificantBits());
    }

    /** The first of {@code count} ticks: {@code first} unless it lies behind the clock, otherwise the first of new ones. */
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

    /** Adjacent keys that one caller has reserved. It belongs to one thread at a time. */
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
         * Takes the block's next key, in increasing order.
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

        /** The number of keys that are left. */
        public int remaining() {
            return left;
        }
    }
}
