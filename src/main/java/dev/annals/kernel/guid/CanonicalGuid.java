package dev.annals.kernel.guid;

import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** A GUID as RFC 9562 writes it, in either case. */
public final class CanonicalGuid {

    private static final int LENGTH = 36;

    private CanonicalGuid() {}

    /** Null if the text is none. {@link UUID#fromString} would accept "1-1-1-1-1" as another id. */
    public static @Nullable UUID parse(String text) {
        if (text.length() != LENGTH) {
            return null;
        }
        for (int i = 0; i < LENGTH; i++) {
            char c = text.charAt(i);
            boolean dash = i == 8 || i == 13 || i == 18 || i == 23;
            if (dash ? c != '-' : c >= 128 || Character.digit(c, 16) < 0) {
                return null;
            }
        }
        return UUID.fromString(text);
    }
}
