package dev.annals.access.tokens;

import jakarta.inject.Singleton;
import java.time.Duration;

/**
 * Limits of look-ups of unproven tokens. Methods, so that a test can replace them: see
 * {@code QuarkusTestProfile.getEnabledAlternatives}.
 */
@Singleton
public class LookUpBounds {

    /** The default wait for a connection. Proven tokens wait as long for a database that cannot be reached. */
    public static final Duration WAIT = Duration.ofSeconds(10);

    /** Each takes one of home's eight connections for look-ups. */
    public int atATime() {
        return 4;
    }

    /** The next one fails at once. A connection makes 64 in a fraction of a second. */
    public int waiting() {
        return 256;
    }
}
