package dev.annals.access.tokens;

import jakarta.inject.Singleton;
import java.time.Duration;

/**
 * Limits of look-ups of tokens that are not known to be valid. Methods, so that a test can replace them: see {@code
 * QuarkusTestProfile.getEnabledAlternatives}.
 */
@Singleton
public class LookUpBounds {

    /**
     * The longest wait for a look-up: the default wait for a connection. Requests with a token that was valid a moment ago wait as
     * long for a database that cannot be reached.
     */
    public static final Duration WAIT = Duration.ofSeconds(10);

    /** Look-ups at a time, each with a connection: a quarter of the default pool for reads. */
    public int atATime() {
        return 4;
    }

    /** Waiting look-ups; the next one fails at once. A connection makes 64 in a fraction of a second. */
    public int waiting() {
        return 256;
    }
}
