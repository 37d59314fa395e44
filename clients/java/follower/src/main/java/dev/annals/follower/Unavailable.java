package dev.annals.follower;

import jakarta.annotation.Nullable;

/** The service cannot be reached, is starting, or is overloaded. A retry may help. */
public final class Unavailable extends Exception {

    private static final long serialVersionUID = 1;

    @Nullable
    private final String retryAfter;

    /**
     * A transient failure.
     *
     * @param retryAfter the answer's header {@code Retry-After}; null without one
     */
    public Unavailable(String why, @Nullable String retryAfter, @Nullable Throwable cause) {
        super(why, cause);
        this.retryAfter = retryAfter;
    }

    /** Whether a retry may help after an answer with this status. */
    public static boolean isStatus(int status) {
        return status == 408 || status == 429 || (status >= 502 && status <= 504);
    }

    /** Null without the header. */
    @Nullable
    public String retryAfter() {
        return retryAfter;
    }
}
