package dev.annals.proof;

import jakarta.annotation.Nullable;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;

/**
 * A SHA-256 of 32 bytes: of an entry, or of a node of a Merkle tree as in RFC 6962, section 2.1. Its text is base64.
 */
public final class Hash {

    public static final int BYTES = 32;

    private static final ThreadLocal<MessageDigest> SHA_256 = ThreadLocal.withInitial(Hash::sha256);

    public static final Hash EMPTY_TREE = of(new byte[0]);

    private static final byte LEAF = 0;
    private static final byte NODE = 1;

    private final byte[] bytes;

    private Hash(byte[] bytes) {
        this.bytes = bytes;
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    /** Hashes the concatenated bytes. */
    public static Hash of(byte[]... parts) {
        MessageDigest digest = SHA_256.get();
        for (byte[] part : parts) {
            digest.update(part);
        }
        return new Hash(digest.digest());
    }

    /** Hashes the text in UTF-8. */
    public static Hash of(String text) {
        return of(text.getBytes(StandardCharsets.UTF_8));
    }

    /** The leaf whose entry is this hash. */
    public Hash leaf() {
        MessageDigest digest = SHA_256.get();
        digest.update(LEAF);
        return new Hash(digest.digest(bytes));
    }

    public static Hash node(Hash left, Hash right) {
        MessageDigest digest = SHA_256.get();
        digest.update(NODE);
        digest.update(left.bytes);
        return new Hash(digest.digest(right.bytes));
    }

    public static Hash at(byte[] bytes, int at) {
        if (at < 0 || at > bytes.length - BYTES) {
            throw new IndexOutOfBoundsException("no hash at " + at + " of " + bytes.length + " bytes");
        }
        return new Hash(Arrays.copyOfRange(bytes, at, at + BYTES));
    }

    /**
     * Reads the text form.
     *
     * @throws IllegalArgumentException if it is not the base64 of 32 bytes, as {@link #toString} writes it
     */
    public static Hash parse(String base64) {
        byte[] bytes = Base64.getDecoder().decode(base64);
        Hash hash = new Hash(bytes);
        if (bytes.length != BYTES || !hash.toString().equals(base64)) {
            throw new IllegalArgumentException("\"" + base64 + "\" is not the base64 of 32 bytes");
        }
        return hash;
    }

    /**
     * Reads a JSON array of hashes in their text form.
     *
     * @throws IllegalArgumentException if it is another JSON value, or null
     */
    public static List<Hash> list(@Nullable String json) {
        if (json == null) {
            throw new IllegalArgumentException("there are no hashes");
        }
        return CanonicalJson.elements(json).stream()
                .map(hash -> parse(CanonicalJson.string(hash)))
                .toList();
    }

    public byte[] bytes() {
        return bytes.clone();
    }

    public void copyTo(byte[] target, int at) {
        System.arraycopy(bytes, 0, target, at, BYTES);
    }

    /** Without padding, as digests in leaves. */
    public String toBase64Url() {
        return Base64Url.of(bytes);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Hash hash && MessageDigest.isEqual(bytes, hash.bytes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes);
    }

    @Override
    public String toString() {
        return Base64.getEncoder().encodeToString(bytes);
    }
}
