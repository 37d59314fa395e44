package dev.annals.access.tokens;

import jakarta.inject.Singleton;
import java.time.Duration;

/**
 * How many tokens are looked up at a time, other than those known to be valid. Methods, so that a test can have fewer: see {@code
 * QuarkusTestProfile.getEnabledAlternatives}.
 */
@Singleton
public class LookUpBounds {

    /**
     * How long a look-up may wait: as long as a request waits for a connection by default. For so long, too, requests with a token that
     * was valid a moment ago wait for a database that cannot be reached.
     */
    public static final Duration WAIT = Duration.ofSeconds(10);

    /** How many are made at a time, each with a connection: a quarter of those for reads by default. */
    public int atATime() {
        return 4;
    }

    /** How many may wait; the next one fails at once. Each connection makes 64 in a fraction of a second. */
    public int waiting() {
        return 256;
    }
}
