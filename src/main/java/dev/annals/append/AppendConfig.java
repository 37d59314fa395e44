package dev.annals.append;

import dev.annals.config.ConfigLimits.Durations;
import dev.annals.config.ConfigLimits.Max;
import dev.annals.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** Limits of writing. */
@ConfigMapping(prefix = "annals.append")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface AppendConfig {

    /** How many lines of NDJSON are appended together. */
    @WithDefault("1000")
    @Min(1)
    @Max(10_000)
    int bulkRecords();

    /** How many bytes of NDJSON are appended together at most, but for the line that passes the limit. */
    @WithDefault("1048576")
    @Min(65_536)
    @Max(16_777_216)
    long bulkBytes();

    /** How many records one transaction takes at most. A request is never cut: one that is larger goes alone. */
    @WithDefault("2000")
    @Min(1)
    @Max(50_000)
    int batchRecords();

    /** How many bytes of JSON one transaction takes at most; as with {@link #batchRecords()}. */
    @WithDefault("8388608")
    @Min(65_536)
    @Max(268_435_456)
    long batchBytes();

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
     * How many bytes of JSON may wait in the queues of all projects together. With a small heap {@code annals.memory} ends
     * before: what waits is held there, too, several times over.
     */
    @WithDefault("134217728")
    @Min(65_536)
    @Max(17_179_869_184L)
    long totalQueueBytes();

    /** How often a batch is tried again after its connection broke or its transaction had to give way. */
    @WithDefault("8")
    @Min(0)
    @Max(100)
    int retries();

    /** How long to wait before the first such try; the wait doubles from try to try, up to {@link #maxRetryDelay()}. */
    @WithDefault("50ms")
    @Durations(min = "1ms", max = "1H")
    Duration retryDelay();

    /** The longest wait between two tries. */
    @WithDefault("2s")
    @Durations(min = "1ms", max = "1H")
    Duration maxRetryDelay();
}
