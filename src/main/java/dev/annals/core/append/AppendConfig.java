package dev.annals.core.append;

import dev.annals.kernel.config.ConfigLimits.Durations;
import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** Limits on writing. */
@ConfigMapping(prefix = "annals.append")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface AppendConfig {

    /** How many lines of NDJSON are appended together at most. */
    @WithDefault("1000")
    @Min(1)
    @Max(10_000)
    int bulkRecords();

    /** How many bytes of NDJSON are appended together at most. The line that exceeds the limit is still included. */
    @WithDefault("1048576")
    @Min(65_536)
    @Max(16_777_216)
    long bulkBytes();

    /** How many log records one request may have that comes by OTLP. */
    @WithDefault("20000")
    @Min(1)
    @Max(1_000_000)
    int logRecords();

    /** How many records one transaction may have. A request is never split: a larger one gets a transaction of its own. */
    @WithDefault("2000")
    @Min(1)
    @Max(50_000)
    int batchRecords();

    /** How many bytes of JSON one transaction may have. Larger requests are treated as for {@link #batchRecords()}. */
    @WithDefault("8388608")
    @Min(65_536)
    @Max(268_435_456)
    long batchBytes();

    /** How many projects one transaction may append to. */
    @WithDefault("64")
    @Min(1)
    @Max(1_000)
    int batchProjects();

    /**
     * How many transactions may append at a time, each to as many projects as have records waiting. What arrives while all of
     * them are in flight goes into the next one. Each has a connection of its own, beside those of the pool.
     */
    @WithDefault("2")
    @Min(1)
    @Max(64)
    int writers();

    /**
     * How long such a transaction may wait for each lock. After that each of its projects is tried alone, and one that is
     * locked waits in a transaction and a connection of the pool for itself, so that no others wait for it.
     */
    @WithDefault("100ms")
    @Durations(min = "1ms", max = "1M")
    Duration lockTimeout();

    /**
     * How long a request waits for a transaction that is still open and holds the id of one of its records. After that the
     * client is told to send it again.
     */
    @WithDefault("10s")
    @Durations(min = "100ms", max = "10M")
    Duration heldWait();

    /**
     * How long the next lines of an import may wait because its project or token has used up a limit. If they had to wait
     * longer, the import ends, and says with which line to go on.
     */
    @WithDefault("30s")
    @Durations(min = "100ms", max = "10M")
    Duration limitWait();

    /** How many requests of a project may wait for such ids. They delay no others, and the next one is turned away. */
    @WithDefault("64")
    @Min(1)
    @Max(1_000)
    int heldRequests();

    /** How many requests may wait in a project's queue. */
    @WithDefault("4096")
    @Min(1)
    @Max(1_000_000)
    int queueRequests();

    /** How many bytes of JSON may wait in a project's queue. */
    @WithDefault("33554432")
    @Min(65_536)
    @Max(17_179_869_184L)
    long queueBytes();

    /**
     * How many bytes of JSON may wait in the queues of all projects together. With a small heap {@code annals.memory.bytes}
     * is the tighter limit: what waits counts there too, several times over.
     */
    @WithDefault("134217728")
    @Min(65_536)
    @Max(17_179_869_184L)
    long totalQueueBytes();

    /**
     * How often a batch is retried after its connection broke or its transaction lost to another one. By default the waits
     * between them add up to half a minute, in which a cluster of databases finds a new primary.
     */
    @WithDefault("20")
    @Min(0)
    @Max(100)
    int retries();

    /** How long to wait before the first retry. The wait doubles with each retry, up to {@link #maxRetryDelay()}. */
    @WithDefault("50ms")
    @Durations(min = "1ms", max = "1H")
    Duration retryDelay();

    /** The longest wait between two attempts. */
    @WithDefault("2s")
    @Durations(min = "1ms", max = "1H")
    Duration maxRetryDelay();
}
