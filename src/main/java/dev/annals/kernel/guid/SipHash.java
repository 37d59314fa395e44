package dev.annals.kernel.guid;

import java.security.SecureRandom;

/**
 * SipHash-2-4 of a number (Aumasson and Bernstein, "SipHash: a fast short-input PRF"). Without the key, its values look random.
 */
final class SipHash {

    private static final long LENGTH = (long) Long.BYTES << 56;

    private final long key0;
    private final long key1;

    /** The key's first byte is the lowest of {@code key0}. */
    SipHash(long key0, long key1) {
        this.key0 = key0;
        this.key1 = key1;
    }

    static SipHash withRandomKey() {
        SecureRandom random = new SecureRandom();
        return new SipHash(random.nextLong(), random.nextLong());
    }

    /** The hash of the eight bytes of {@code number}, the lowest first. */
    long of(long number) {
        long v0 = key0 ^ 0x736f6d6570736575L;
        long v1 = key1 ^ 0x646f72616e646f6dL;
        long v2 = key0 ^ 0x6c7967656e657261L;
        long v3 = key1 ^ 0x7465646279746573L;
        // Two rounds for the number, two for its length, four to finish.
        for (int round = 0; round < 8; round++) {
            if (round == 0) {
                v3 ^= number;
            } else if (round == 2) {
                v0 ^= number;
                v3 ^= LENGTH;
            } else if (round == 4) {
                v0 ^= LENGTH;
                v2 ^= 0xff;
            }
            v0 += v1;
            v2 += v3;
            v1 = Long.rotateLeft(v1, 13) ^ v0;
            v3 = Long.rotateLeft(v3, 16) ^ v2;
            v0 = Long.rotateLeft(v0, 32);
            v2 += v1;
            v0 += v3;
            v1 = Long.rotateLeft(v1, 17) ^ v2;
            v3 = Long.rotateLeft(v3, 21) ^ v0;
            v2 = Long.rotateLeft(v2, 32);
        }
        return v0 ^ v1 ^ v2 ^ v3;
    }
}
