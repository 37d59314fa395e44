package dev.annals.guid;

import jakarta.inject.Singleton;
import java.time.Instant;
import java.time.InstantSource;
import java.util.NoSuchElementException;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Draws sequential GUIDs: version 7 UUIDs (RFC 9562, section 5.7) of which every one is greater, by unsigned bytes,
 * than all that were drawn before it from the same generator, by any thread.
 *
 * <p>Layout, from the first byte: 48 bits of Unix milliseconds, 4 bits of version, 12 bits of sub-millisecond fraction
 * (RFC 9562, section 6.2, method 3), 2 bits of variant, 62 bits that are {@link SipHash} of the time before them, under a key
 * that the generator has from a secure source and nobody else learns. So keys of two generators differ, whoever has seen
 * any number of keys cannot guess the next one, and keys of many processes lie where the clock stands, at the end of an
 * index.
 *
 * <p>The first 60 bits of time are one number, the <em>tick</em>: 1/4096 ms, about 244 ns. Every key takes the tick
 * after the last one. Where that lies behind the clock it jumps to the clock; where the clock stands still or jumps
 * back, the ticks go on from the last. More than 4,096,000 keys a second, kept up, run ahead of the clock by as much as
 * they outnumber its ticks; the clock closes that lead again when fewer are drawn.
 *
 * <p>Reading the clock costs several times what the rest of a key costs. While the last tick leads the clock by more
 * than 50 ms nothing can fall behind it at once, so keys are then drawn without looking, and a short-lived daemon thread
 * watches the lead instead. It is the one case where a key may lag the clock: when that thread is kept off the processor
 * for longer than the lead lasts. Order and uniqueness never depend on it.
 *
 * <p>Use one generator a process: two of them are each in order, but not with each other.
 */
@Singleton
public final class SequentialGuid {

    /** The most keys one block may hold. */
    public static final int MAX_BLOCK = 1 << 20;

    private static final int TICKS_PER_MILLI = 4096;
    private static final long NANOS_PER_MILLI = 1_000_000;
    private static final long ENOUGH_LEAD = 100L * TICKS_PER_MILLI;
    private static final long LITTLE_LEAD = 50L * TICKS_PER_MILLI;
    private static final long WATCH_EVERY_NANOS = 10 * NANOS_PER_MILLI;

    private final AtomicLong lastTick = new AtomicLong();
    private final InstantSource clock;
    private final SipHash hash = SipHash.withRandomKey();
    private final long enoughLead;
    private final AtomicBoolean watched = new AtomicBoolean();
    private volatile boolean leading;

    /** A generator on the system's clock. */
    public SequentialGuid() {
        this(InstantSource.system(), ENOUGH_LEAD);
    }

    /**
     * A generator that looks at {@code clock} for every key or block.
     *
     * @param clock where keys catch up with; only its milliseconds since 1970 and their fraction count
     */
    SequentialGuid(InstantSource clock) {
        this(clock, Long.MAX_VALUE);
    }

    /** As above, but keys are drawn without looking at the clock once they lead it by {@code enoughLead} ticks. */
    SequentialGuid(InstantSource clock, long enoughLead) {
        this.clock = clock;
        this.enoughLead = enoughLead;
    }

    /** Draws the next key. Never blocks, never fails; any thread may call it. */
    public UUID next() {
        long tick = lastTick.incrementAndGet();
        return key(leading ? tick : catchUp(tick, 1));
    }

    /**
     * Reserves {@code count} adjacent keys in one step, for a caller that will need them all: no key drawn elsewhere
     * lies between them.
     *
     * @throws IllegalArgumentException when {@code count} is below 1 or above {@link #MAX_BLOCK}
     */
    public Block reserve(int count) {
        if (count < 1 || count > MAX_BLOCK) {
            throw new IllegalArgumentException("A block holds 1 to " + MAX_BLOCK + " keys, not " + count);
        }
        long first = lastTick.getAndAdd(count) + 1;
        return new Block(leading ? first : catchUp(first, count), count);
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

    /** The first of {@code count} ticks: {@code first} where it does not lie behind the clock, else new ones. */
    private long catchUp(long first, int count) {
        long now = ticks(clock.instant());
        if (first >= now) {
            if (first - now > enoughLead) {
                watchLead();
            }
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

    private void watchLead() {
        if (watched.compareAndSet(false, true)) {
            Thread watcher = new Thread(this::drawWithoutLookingWhileLeading, "annals-guid-lead");
            watcher.setDaemon(true);
            watcher.start();
        }
    }

    private void drawWithoutLookingWhileLeading() {
        try {
            while (lastTick.get() - ticks(clock.instant()) > LITTLE_LEAD) {
                leading = true;
                LockSupport.parkNanos(WATCH_EVERY_NANOS);
            }
        } finally {
            leading = false;
            watched.set(false);
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
         * @throws NoSuchElementException when all keys of the block are taken
         */
        public UUID next() {
            if (left == 0) {
                throw new NoSuchElementException("All " + count + " keys of this block are taken");
            }
            left--;
            return key(tick++);
        }

        /** How many keys are left to take. */
        public int remaining() {
            return left;
        }
    }
}
