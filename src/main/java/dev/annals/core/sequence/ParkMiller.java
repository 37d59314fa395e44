package dev.annals.core.sequence;

/**
 * The "minimal standard" generator x' = 16807 x mod 2147483647, whose period contains every number from 1 to 2147483646
 * once. S. K. Park and K. W. Miller, "Random number generators: good ones are hard to find", CACM 31 (1988), 1192-1201.
 */
final class ParkMiller {

    /** A primitive root of the modulus, so that the period is full. */
    static final int MULTIPLIER = 16_807;
    /** A prime: 2^31 - 1. */
    static final int MODULUS = 2_147_483_647;

    static final long PERIOD = MODULUS - 1L;

    private static final int QUOTIENT = MODULUS / MULTIPLIER;
    private static final int REMAINDER = MODULUS % MULTIPLIER;

    private ParkMiller() {}

    /** Schrage's method (TOMS 5, 1979): no intermediate result has more than 31 bits. */
    static int next(int x) {
        int high = x / QUOTIENT;
        int low = x % QUOTIENT;
        int next = MULTIPLIER * low - REMAINDER * high;
        return next > 0 ? next : next + MODULUS;
    }

    /**
     * The value at a position in the period that begins after {@code seed}.
     *
     * @param position 1 is the value after the seed
     */
    static int at(int seed, long position) {
        long value = seed;
        long power = MULTIPLIER;
        for (long rest = position; rest > 0; rest >>= 1) {
            if ((rest & 1) == 1) {
                value = value * power % MODULUS;
            }
            power = power * power % MODULUS;
        }
        return (int) value;
    }
}
