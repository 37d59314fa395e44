package dev.annals.follower;

import jakarta.annotation.Nullable;

/** The service did not answer, or could not: it cannot be reached, is starting, or has too much to do. */
public final class Unavailable extends Exception {

    private static final long serialVersionUID = 1;

    @Nullable
    private final String retryAfter;

    /**
     * A transient failure.
     *
     * @param retryAfter the answer's header {@code Retry-After}, if there is one
     */
    public Unavailable(String why, @Nullable String retryAfter, @Nullable Throwable cause) {
        super(why, cause);
        this.retryAfter = retryAfter;
    }

    /** Whether an answer's status is transient; any other needs a decision. */
    public static boolean isStatus(int status) {
        return status == 408 || status == 429 || (status >= 502 && status <= 504);
    }

    /** What the service asked for. */
    @Nullable
    public String retryAfter() {
        return retryAfter;
    }
}
