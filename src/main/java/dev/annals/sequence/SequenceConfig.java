package dev.annals.sequence;

import dev.annals.ConfigLimits.Durations;
import dev.annals.ConfigLimits.Numbers;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** Limits of sequence generators. */
@ConfigMapping(prefix = "annals.sequence")
public interface SequenceConfig {

    /** How many sequences the process keeps generators for; of one that it forgets, the rest of the batch is lost. */
    @WithDefault("10000")
    @Numbers(min = 1, max = 1_000_000)
    int generators();

    /** How many callers may wait for a refill of one sequence. */
    @WithDefault("4096")
    @Numbers(min = 1, max = 1_000_000)
    int queueRequests();

    /** How often a reservation is tried again after the database failed. */
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
