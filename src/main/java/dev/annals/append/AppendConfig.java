package dev.annals.append;

import dev.annals.ConfigLimits.Durations;
import dev.annals.ConfigLimits.Numbers;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** Limits of writing. */
@ConfigMapping(prefix = "annals.append")
public interface AppendConfig {

    /** How many bytes of JSON a request may have, other than NDJSON, which is taken as it streams in. */
    @WithDefault("16777216")
    @Numbers(min = 65_536, max = 268_435_456)
    int maxBodyBytes();

    /**
     * How many times as long as it was sent a body may become that came as gzip; its first MiB counts for nothing. What it
     * becomes counts against every other limit, too.
     */
    @WithDefault("100")
    @Numbers(min = 10, max = 1_100)
    int maxUnpackRatio();

    /** How long a whole body may take, other than NDJSON. */
    @WithDefault("2M")
    @Durations(min = "1s", max = "1H")
    Duration bodyTime();

    /** How many bytes a second of a body must come, as long as the service reads it. */
    @WithDefault("1024")
    @Numbers(min = 1, max = 16_777_216)
    int bodyRate();

    /** Over how much time {@link #bodyRate()} is measured: a sender may be silent for as long. */
    @WithDefault("30s")
    @Durations(min = "1s", max = "1H")
    Duration bodyPatience();

    /** How many lines of NDJSON are appended together. */
    @WithDefault("1000")
    @Numbers(min = 1, max = 10_000)
    int bulkRecords();

    /** How many bytes of NDJSON are appended together at most, but for the line that passes the limit. */
    @WithDefault("1048576")
    @Numbers(min = 65_536, max = 16_777_216)
    long bulkBytes();

    /** How many records one transaction takes at most. A request is never cut: one that is larger goes alone. */
    @WithDefault("2000")
    @Numbers(min = 1, max = 50_000)
    int batchRecords();

    /** How many bytes of JSON one transaction takes at most; as with {@link #batchRecords()}. */
    @WithDefault("8388608")
    @Numbers(min = 65_536, max = 268_435_456)
    long batchBytes();

    /** How many requests may wait in a project's queue. */
    @WithDefault("4096")
    @Numbers(min = 1, max = 1_000_000)
    int queueRequests();

    /** How many bytes of JSON may wait in a project's queue. */
    @WithDefault("33554432")
    @Numbers(min = 65_536, max = 17_179_869_184L)
    long queueBytes();

    /**
     * How many bytes of JSON may wait in the queues of all projects together. With a small heap {@code annals.memory} ends
     * before: what waits is held there, too, several times over.
     */
    @WithDefault("134217728")
    @Numbers(min = 65_536, max = 17_179_869_184L)
    long totalQueueBytes();

    /** How often a batch is tried again after its connection broke or its transaction had to give way. */
    @WithDefault("8")
    @Numbers(min = 0, max = 100)
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
