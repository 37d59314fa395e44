package dev.annals.edges.export;

import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Whether an outcome means success or failure. */
public enum Verdict {
    SUCCESS,
    FAILURE,
    /** Another word, or no outcome. */
    UNKNOWN;

    private static final Set<String> GOOD = Set.of("success", "succeeded", "ok");
    private static final Set<String> BAD = Set.of("failure", "failed", "error", "denied");

    public static Verdict of(@Nullable String outcome) {
        String word = outcome == null ? "" : outcome.toLowerCase(Locale.ROOT);
        return GOOD.contains(word) ? SUCCESS : BAD.contains(word) ? FAILURE : UNKNOWN;
    }
}
