package dev.annals.derived.proof;

import dev.annals.proof.Hash;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** HKDF with SHA-256: RFC 5869. */
public final class Hkdf {

    private static final String HMAC = "HmacSHA256";
    private static final int MAX_BYTES = 255 * Hash.BYTES;

    private Hkdf() {}

    /**
     * Derives a key of {@code bytes} bytes, at most 8,160.
     *
     * @param bytes at most 8,160
     */
    public static byte[] derive(byte[] secret, byte[] salt, byte[] info, int bytes) {
        if (bytes < 1 || bytes > MAX_BYTES) {
            throw new IllegalArgumentException("HKDF derives 1 to " + MAX_BYTES + " bytes, and not " + bytes);
        }
        byte[] extracted = hmac(salt.length == 0 ? new byte[Hash.BYTES] : salt, secret);
        byte[] derived = new byte[bytes];
        byte[] block = new byte[0];
        for (int at = 0, counter = 1; at < bytes; at += Hash.BYTES, counter++) {
            block = hmac(extracted, block, info, new byte[] {(byte) counter});
            System.arraycopy(block, 0, derived, at, Math.min(Hash.BYTES, bytes - at));
        }
        return derived;
    }

    private static byte[] hmac(byte[] key, byte[]... parts) {
        try {
            Mac mac = Mac.getInstance(HMAC);
            mac.init(new SecretKeySpec(key, HMAC));
            for (byte[] part : parts) {
                mac.update(part);
            }
            return mac.doFinal();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java platform has " + HMAC, e);
        }
    }

    static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
