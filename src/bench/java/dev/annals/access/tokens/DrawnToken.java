package dev.annals.access.tokens;

import java.security.SecureRandom;

/**
 * A token that a benchmark gives to a project by SQL, since one request for each of 100,000 takes long.
 *
 * @param hash its SHA-256 in hexadecimal digits, as the database has it
 */
public record DrawnToken(String text, String hash) {

    /** A new one. */
    public static DrawnToken draw(SecureRandom random) {
        String text = TokenText.draw(random);
        return new DrawnToken(text, TokenHash.of(text).hex());
    }
}
