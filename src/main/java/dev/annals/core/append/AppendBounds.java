package dev.annals.core.append;

import jakarta.inject.Singleton;
import java.time.Duration;

/**
 * The sizes and waits of appends that follow from how they work, and are no settings. Methods, so that a test can have small ones: see
 * {@code QuarkusTestProfile.getEnabledAlternatives}.
 */
@Singleton
public class AppendBounds {

    /** How many lines of NDJSON are appended together at most: more of them make an import no faster. */
    public int bulkRecords() {
        return 1_000;
    }

    /** How many bytes of NDJSON are appended together, with the line that exceeds them: an import holds four times as many. */
    public long bulkBytes() {
        return 1_048_576;
    }

    /** How many records one transaction may have, so that it holds its feeds' locks for a fraction of a second; a request is never split. */
    public int batchRecords() {
        return 2_000;
    }

    /** How many bytes of JSON one transaction may have, for the same reason. */
    public long batchBytes() {
        return 8_388_608;
    }

    /** How many projects one transaction may append to: each adds a lock to wait for. */
    public int batchProjects() {
        return 64;
    }

    /**
     * How long a transaction of several projects may wait for each lock. After that each of its projects is tried alone, and one that is
     * locked waits in a transaction and a connection of the pool for itself, so that no others wait for it.
     */
    public Duration lockTimeout() {
        return Duration.ofMillis(100);
    }

    /** How many requests may wait in a project's queue: they fill {@link #queueBytes} when they have eight KiB each. */
    public int queueRequests() {
        return 4_096;
    }

    /** How many bytes of JSON may wait in a project's queue: a quarter of what all projects together may have by default. */
    public long queueBytes() {
        return 33_554_432;
    }

    /**
     * How long the next lines of an import may wait because its project or token has used up a limit: proxies and clients give up soon
     * after. If they had to wait longer, the import ends, and says with which line to go on.
     */
    public Duration limitWait() {
        return Duration.ofSeconds(30);
    }

    /** The wait before the first retry; it doubles with each further one. A connection that was cut is replaced at once. */
    public Duration retryDelay() {
        return Duration.ofMillis(50);
    }

    /** The longest wait between two retries: a database that is back is noticed within this time. */
    public Duration maxRetryDelay() {
        return Duration.ofSeconds(2);
    }
}
