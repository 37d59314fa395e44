package dev.annals.derived.proof;

import dev.annals.proof.Base64Url;
import java.security.SecureRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The secret from which the keys of all logs of a service follow: HKDF-SHA256 with the salt {@code annals log key/1} and the log's origin
 * as info. Its text is {@code annals-log-key/1:} and base64url of 32 bytes.
 */
public final class MasterKey {

    private static final int BYTES = 32;
    private static final String PREFIX = "annals-log-key/1:";
    private static final Pattern TEXT = Pattern.compile("\\s*" + Pattern.quote(PREFIX) + "([0-9A-Za-z_-]{43})\\s*");
    private static final byte[] SALT = Hkdf.utf8("annals log key/1");

    private final byte[] secret;

    private MasterKey(byte[] secret) {
        this.secret = secret;
    }

    public static MasterKey draw() {
        byte[] secret = new byte[BYTES];
        new SecureRandom().nextBytes(secret);
        return new MasterKey(secret);
    }

    /**
     * Reads the text form.
     *
     * @throws IllegalArgumentException if it is another text; the message does not repeat it
     */
    public static MasterKey parse(String text) {
        Matcher matcher = TEXT.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException("this is no log key: it is one line that begins with " + PREFIX
                    + ", as annals log keygen makes it");
        }
        return new MasterKey(Base64Url.parse(matcher.group(1), BYTES));
    }

    public SigningKey of(String origin) {
        return SigningKey.of(origin, Hkdf.derive(secret, SALT, Hkdf.utf8(origin), BYTES));
    }

    /** {@link #toString} does not show it. */
    public String secretText() {
        return PREFIX + Base64Url.of(secret);
    }

    @Override
    public String toString() {
        return "a log key";
    }
}
