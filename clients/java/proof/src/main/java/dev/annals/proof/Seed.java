package dev.annals.proof;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Random bytes from which salts follow: the seed of 256 records gives the seed of each record, which gives the salt of each field. With the
 * seed of a record, its leaf can be computed, and no other leaf.
 */
public final class Seed {

    public static final int BYTES = 32;

    static final int SALT_BYTES = 16;

    private final byte[] bytes;

    private Seed(byte[] bytes) {
        if (bytes.length != BYTES) {
            throw new IllegalArgumentException("a seed has " + BYTES + " bytes, and not " + bytes.length);
        }
        this.bytes = bytes;
    }

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

    /** The seed of a record, if this is the seed of its 256 records. */
    public Seed ofRecord(long sequenceId) {
        byte[] place = ByteBuffer.allocate(Long.BYTES).putLong(sequenceId).array();
        return new Seed(Hash.of(bytes, place).bytes());
    }

    /** The salt of a field, if this is the seed of its record. */
    public String salt(String field) {
        byte[] hash = Hash.of(bytes, field.getBytes(StandardCharsets.UTF_8)).bytes();
        return Base64Url.of(Arrays.copyOf(hash, SALT_BYTES));
    }

    public byte[] bytes() {
        return bytes.clone();
    }

    /** Base64url without padding. */
    @Override
    public String toString() {
        return Base64Url.of(bytes);
    }
}
