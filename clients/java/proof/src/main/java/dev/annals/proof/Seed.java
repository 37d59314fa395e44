package dev.annals.proof;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * From what salts are derived: 32 random bytes for each 256 records, of which each record has its own seed, of which each
 * field has its own salt. Whoever knows the seed of a record can compute its leaf, and no other's.
 */
public final class Seed {

    /** How many bytes a seed has. */
    public static final int BYTES = 32;

    /** How many bytes a salt has. */
    static final int SALT_BYTES = 16;

    private final byte[] bytes;

    private Seed(byte[] bytes) {
        if (bytes.length != BYTES) {
            throw new IllegalArgumentException("a seed has " + BYTES + " bytes, and not " + bytes.length);
        }
        this.bytes = bytes;
    }

    /** A seed that was drawn or stored. */
    public static Seed of(byte[] bytes) {
        return new Seed(bytes.clone());
    }

    /**
     * Reads the text form.
     *
     * @throws IllegalArgumentException if it is not base64url of 32 bytes without padding
     */
    public static Seed parse(String text) {
        return new Seed(Base64Url.parse(text, BYTES));
    }

    /** The seed of one of the 256 records for which this one was drawn. */
    public Seed ofRecord(long sequenceId) {
        byte[] place = ByteBuffer.allocate(Long.BYTES).putLong(sequenceId).array();
        return new Seed(Hash.of(bytes, place).bytes());
    }

    /** The salt of a field, where this is the seed of its record. */
    public String salt(String field) {
        byte[] hash = Hash.of(bytes, field.getBytes(StandardCharsets.UTF_8)).bytes();
        return Base64Url.of(Arrays.copyOf(hash, SALT_BYTES));
    }

    /** As it is stored. */
    public byte[] bytes() {
        return bytes.clone();
    }

    /** In base64url without padding. */
    @Override
    public String toString() {
        return Base64Url.of(bytes);
    }
}
