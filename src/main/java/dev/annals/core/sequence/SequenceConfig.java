package dev.annals.core.sequence;

import dev.annals.kernel.config.ConfigLimits.Durations;
import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** Limits on sequence generators. */
@ConfigMapping(prefix = "annals.sequence")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface SequenceConfig {

    /** For how many sequences the process keeps generators. When it drops one, the rest of that one's batch is lost. */
    @WithDefault("10000")
    @Min(1)
    @Max(1_000_000)
    int generators();

    /** How many callers may wait for a refill of one sequence. */
    @WithDefault("4096")
    @Min(1)
    @Max(1_000_000)
    int queueRequests();

    /** How often a reservation is retried after the database failed. */
    @WithDefault("8")
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
