package dev.annals.access.tokens;

import io.vertx.core.buffer.Buffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** The SHA-256 of a token, in hexadecimal. The time to compare hashes tells nothing about tokens. */
public record TokenHash(String hex) {

    public static TokenHash of(String token) {
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
            return new TokenHash(HexFormat.of().formatHex(hash));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    public Buffer buffer() {
        return Buffer.buffer(HexFormat.of().parseHex(hex));
    }
}
