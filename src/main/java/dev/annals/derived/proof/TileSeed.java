package dev.annals.derived.proof;

import dev.annals.proof.Seed;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The stored seeds of 256 records: one seed, from which all follow; or, after a redaction, a seed per record, without those of redacted
 * records, because nothing must lead to the salts of redacted fields.
 */
public final class TileSeed {

    private static final byte[] GONE = new byte[Seed.BYTES];

    private final byte[] bytes;

    private TileSeed(byte[] bytes) {
        this.bytes = bytes;
    }

    /**
     * Reads the stored bytes.
     *
     * @param bytes one seed, or 256 of them; deleted ones are zeros
     */
    public static TileSeed of(byte[] bytes) {
        if (bytes.length != Seed.BYTES && bytes.length != Tile.WIDTH * Seed.BYTES) {
            throw new IllegalArgumentException(bytes.length + " bytes are neither one seed nor those of a tile");
        }
        return new TileSeed(bytes);
    }

    /** Null if the seed was deleted. */
    public @Nullable Seed ofRecord(long sequenceId) {
        if (bytes.length == Seed.BYTES) {
            return Seed.of(bytes).ofRecord(sequenceId);
        }
        int at = (int) ((sequenceId - 1) % Tile.WIDTH) * Seed.BYTES;
        byte[] seed = Arrays.copyOfRange(bytes, at, at + Seed.BYTES);
        return Arrays.equals(seed, GONE) ? null : Seed.of(seed);
    }
}
