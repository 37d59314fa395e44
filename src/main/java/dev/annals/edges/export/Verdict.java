package dev.annals.edges.export;

import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What the word for an outcome says, as far as it is known. */
public enum Verdict {
    SUCCESS,
    FAILURE,
    /** A word that stands for neither, or none. */
    UNKNOWN;

    private static final Set<String> GOOD = Set.of("success", "succeeded", "ok");
    private static final Set<String> BAD = Set.of("failure", "failed", "error", "denied");

    /** The verdict in a record's outcome. */
    public static Verdict of(@Nullable String outcome) {
        String word = outcome == null ? "" : outcome.toLowerCase(Locale.ROOT);
        return GOOD.contains(word) ? SUCCESS : BAD.contains(word) ? FAILURE : UNKNOWN;
    }
}
