package dev.annals.core.append;

import jakarta.inject.Singleton;
import java.time.Duration;

/**
 * Sizes and waits of appends that no deployment has a reason to change. They are methods, so that a test can have small ones: see {@code
 * QuarkusTestProfile.getEnabledAlternatives}.
 */
@Singleton
public class AppendBounds {

    /** The most lines of NDJSON that are appended together. More make an import no faster. */
    public int bulkRecords() {
        return 1_000;
    }

    /** The most bytes of NDJSON that are appended together, but for the last line. An import holds four times as many. */
    public long bulkBytes() {
        return 1_048_576;
    }

    /** The most records of a transaction, so that it holds the locks of its feeds for a fraction of a second. A request is never split. */
    public int batchRecords() {
        return 2_000;
    }

    /** The most bytes of JSON of a transaction, for the same reason. */
    public long batchBytes() {
        return 8_388_608;
    }

    /** The most projects of a transaction. Each adds a lock to wait for. */
    public int batchProjects() {
        return 64;
    }

    /**
     * The longest wait of a transaction of several projects for each lock. After that, each project is tried alone, and a locked one waits on
     * a connection of its own, so that no other project waits for it.
     */
    public Duration lockTimeout() {
        return Duration.ofMillis(100);
    }

    /** The most requests in a queue. With 8 KiB each they fill {@link #queueBytes}. */
    public int queueRequests() {
        return 4_096;
    }

    /** The most bytes of JSON in a queue: by default a quarter of the limit for all queues. */
    public long queueBytes() {
        return 33_554_432;
    }

    /**
     * The longest wait of an import whose project or token has used up a limit. Proxies and clients give up soon after. An import that would
     * have to wait longer ends, and names the line to continue with.
     */
    public Duration limitWait() {
        return Duration.ofSeconds(30);
    }

    /** The pause before the first retry. It doubles with each further one. */
    public Duration retryDelay() {
        return Duration.ofMillis(50);
    }

    /** The longest pause between two retries: a database that is back is noticed within this time. */
    public Duration maxRetryDelay() {
        return Duration.ofSeconds(2);
    }
}
