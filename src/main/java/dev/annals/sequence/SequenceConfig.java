package dev.annals.sequence;

import dev.annals.config.ConfigLimits.Durations;
import dev.annals.config.ConfigLimits.Max;
import dev.annals.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** Limits of sequence generators. */
@ConfigMapping(prefix = "annals.sequence")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface SequenceConfig {

    /** How many sequences the process keeps generators for; of one that it forgets, the rest of the batch is lost. */
    @WithDefault("10000")
    @Min(1)
    @Max(1_000_000)
    int generators();

    /** How many callers may wait for a refill of one sequence. */
    @WithDefault("4096")
    @Min(1)
    @Max(1_000_000)
    int queueRequests();

    /** How often a reservation is tried again after the database failed. */
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
