package dev.annals.access.tokens;

import java.security.SecureRandom;

/** Tokens for tests. */
public final class TestTokens {

    private static final SecureRandom RANDOM = new SecureRandom();

    private TestTokens() {}

    /** A token that nobody was given: whether it is known takes a look-up. */
    public static String unknown() {
        return TokenText.draw(RANDOM);
    }
}
