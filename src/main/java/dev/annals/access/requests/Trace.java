package dev.annals.access.requests;

import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What a request belongs to (W3C Trace Context).
 *
 * @param id 32 hexadecimal digits: the caller's, or new ones
 * @param parent the caller's span; null for a trace that begins here
 */
record Trace(String id, @Nullable String parent) {

    // A later version may have more behind the flags; of version 00 the header is this long and no longer.
    private static final Pattern HEADER = Pattern.compile("(?:00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}"
            + "|(?!00|ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-.{0,200})?)");
    private static final String NO_ID = "0".repeat(32);
    private static final String NO_PARENT = "0".repeat(16);
    private static final int MAX_LENGTH = 256;

    /** The trace that the values of {@code traceparent} name; a new one if they are not exactly one valid value. */
    static Trace of(List<String> headers) {
        if (headers.size() == 1 && headers.get(0).length() <= MAX_LENGTH) {
            Matcher header = HEADER.matcher(headers.get(0));
            if (header.matches()) {
                String id = header.group(1) == null ? header.group(3) : header.group(1);
                String parent = header.group(2) == null ? header.group(4) : header.group(2);
                if (!id.equals(NO_ID) && !parent.equals(NO_PARENT)) {
                    return new Trace(id, parent);
                }
            }
        }
        return fresh();
    }

    // It names and protects nothing: no need for a secure source, which could block.
    private static Trace fresh() {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        return new Trace(hex(random.nextLong()) + hex(random.nextLong() | 1), null);
    }

    private static String hex(long bits) {
        String digits = Long.toHexString(bits);
        return "0".repeat(16 - digits.length()) + digits;
    }
}
