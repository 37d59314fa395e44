package dev.annals.writer;

import java.security.SecureRandom;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Draws version 7 UUIDs (RFC 9562, section 5.7): 48 bits of Unix milliseconds, 12 bits of their fraction, 62 random bits. Each is greater,
 * by unsigned bytes, than those drawn before, also where the clock stands still or jumps back.
 */
final class Ids {

    private static final long TICKS_PER_MILLI = 4096;
    private static final long NANOS_PER_MILLI = 1_000_000;

    private final SecureRandom random = new SecureRandom();
    private final AtomicLong lastTick = new AtomicLong();

    UUID next(Instant now) {
        long nanos = ChronoUnit.NANOS.between(Instant.EPOCH, now);
        long fraction = nanos % NANOS_PER_MILLI * TICKS_PER_MILLI / NANOS_PER_MILLI;
        long clock = nanos / NANOS_PER_MILLI * TICKS_PER_MILLI + fraction;
        long tick = lastTick.updateAndGet(last -> Math.max(last + 1, clock));
        long high = (tick & -TICKS_PER_MILLI) << 4 | 0x7000 | (tick & (TICKS_PER_MILLI - 1));
        return new UUID(high, 0x8000_0000_0000_0000L | (random.nextLong() & 0x3FFF_FFFF_FFFF_FFFFL));
    }
}
