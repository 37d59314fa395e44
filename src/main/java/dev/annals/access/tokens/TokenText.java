package dev.annals.access.tokens;

import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.regex.Pattern;
import java.util.zip.CRC32;

/**
 * The form of tokens: {@code annals_}, 43 letters and digits from a secure generator (256 bits), and a checksum of 6, which
 * saves scanners for secrets false alarms.
 */
public final class TokenText {

    /** For scanners: see docs/administration.md. */
    private static final Pattern FORM = Pattern.compile("annals_[0-9A-Za-z]{49}");

    private static final String PREFIX = "annals_";
    private static final String DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    private static final int RANDOM_CHARACTERS = 43;
    private static final int CHECK_CHARACTERS = 6;

    private TokenText() {}

    public static String draw(SecureRandom random) {
        StringBuilder drawn = new StringBuilder();
        for (int i = 0; i < RANDOM_CHARACTERS; i++) {
            drawn.append(DIGITS.charAt(random.nextInt(DIGITS.length())));
        }
        return PREFIX + drawn + check(drawn.toString());
    }

    /** Mistyped tokens need no look-up. */
    static boolean isToken(String text) {
        if (!FORM.matcher(text).matches()) {
            return false;
        }
        int check = text.length() - CHECK_CHARACTERS;
        return text.substring(check).equals(check(text.substring(PREFIX.length(), check)));
    }

    /** CRC-32 in base 62, the most significant digit first. */
    private static String check(String text) {
        CRC32 crc = new CRC32();
        crc.update(text.getBytes(StandardCharsets.US_ASCII));
        long value = crc.getValue();
        char[] check = new char[CHECK_CHARACTERS];
        for (int i = CHECK_CHARACTERS - 1; i >= 0; i--) {
            check[i] = DIGITS.charAt((int) (value % DIGITS.length()));
            value /= DIGITS.length();
        }
        return new String(check);
    }
}
