package dev.annals.access.tokens;

import java.security.SecureRandom;

/** Tokens for tests. */
public final class TestTokens {

    private static final SecureRandom RANDOM = new SecureRandom();

    private TestTokens() {}

    /** A well-formed token that was never issued. */
    public static String unknown() {
        return TokenText.draw(RANDOM);
    }
}
