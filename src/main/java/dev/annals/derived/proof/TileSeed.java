package dev.annals.derived.proof;

import dev.annals.proof.Seed;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * What is stored of the salts of 256 records: the one seed from which those of all of them follow; or, once something was redacted
 * in one of them, the seed of each, but of those that were redacted, whose salts must not follow from anything.
 */
public final class TileSeed {

    private static final byte[] GONE = new byte[Seed.BYTES];

    private final byte[] bytes;

    private TileSeed(byte[] bytes) {
        this.bytes = bytes;
    }

    /**
     * As it is stored.
     *
     * @param bytes a seed, or 256 of them, of which those that are gone are zeros
     */
    public static TileSeed of(byte[] bytes) {
        if (bytes.length != Seed.BYTES && bytes.length != Tile.WIDTH * Seed.BYTES) {
            throw new IllegalArgumentException(bytes.length + " bytes are neither one seed nor those of a tile");
        }
        return new TileSeed(bytes);
    }

    /** The seed of one of the 256 records; null if it is gone. */
    public @Nullable Seed ofRecord(long sequenceId) {
        if (bytes.length == Seed.BYTES) {
            return Seed.of(bytes).ofRecord(sequenceId);
        }
        int at = (int) ((sequenceId - 1) % Tile.WIDTH) * Seed.BYTES;
        byte[] seed = Arrays.copyOfRange(bytes, at, at + Seed.BYTES);
        return Arrays.equals(seed, GONE) ? null : Seed.of(seed);
    }
}
