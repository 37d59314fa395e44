package dev.annals.core.append;

import jakarta.inject.Singleton;
import java.time.Duration;

/**
 * Sizes and waits of appends that no deployment has a reason to change. They are methods, so that a test can have small ones:
 * see {@code QuarkusTestProfile.getEnabledAlternatives}.
 */
@Singleton
public class AppendBounds {

    /** NDJSON lines of an append. More make an import no faster. */
    public int bulkRecords() {
        return 1_000;
    }

    /** Bytes of such an append, but for its last line. An import holds four times as many. */
    public long bulkBytes() {
        return 1_048_576;
    }

    /** Records of a transaction: it holds the locks of its feeds for a fraction of a second. A request is never split. */
    public int batchRecords() {
        return 2_000;
    }

    public long batchBytes() {
        return 8_388_608;
    }

    /** Each project adds a lock to wait for. */
    public int batchProjects() {
        return 64;
    }

    /** The longest wait of a shared transaction for each lock. After that, each project is tried alone. */
    public Duration lockTimeout() {
        return Duration.ofMillis(100);
    }

    /** With 8 KiB each they fill {@link #queueBytes}. */
    public int queueRequests() {
        return 4_096;
    }

    public long queueBytes() {
        return 33_554_432;
    }

    /** The longest wait of an import for its limits. Proxies and clients give up soon after. */
    public Duration limitWait() {
        return Duration.ofSeconds(30);
    }

    /** The pause before the first retry. It doubles with each further one. */
    public Duration retryDelay() {
        return Duration.ofMillis(50);
    }

    public Duration maxRetryDelay() {
        return Duration.ofSeconds(2);
    }
}
