package dev.annals.tools.bucket;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Map;

/**
 * A lock of an object, from its creation on. Until it ends, the store lets no version of the object be deleted or replaced.
 *
 * @param mode GOVERNANCE, which a privileged user can lift, or COMPLIANCE, which no user can
 */
public record ObjectLock(String mode, int days) {

    private static final Duration SLACK = Duration.ofDays(1);

    Map<String, String> headers() {
        Instant until = Instant.now().plus(Duration.ofDays(days)).truncatedTo(ChronoUnit.SECONDS);
        return Map.of(Bucket.LOCK_MODE, mode, Bucket.LOCKED_UNTIL, until.toString());
    }

    /** Whether the lock of an object is at least this one. It was set when the upload began: a day less is accepted. */
    public boolean isOf(Bucket.Stored object) {
        Instant until = object.lockedUntil();
        return (mode.equals(object.lockMode()) || "COMPLIANCE".equals(object.lockMode()))
                && until != null
                && !until.isBefore(object.modified().plus(Duration.ofDays(days)).minus(SLACK));
    }
}
