package dev.annals.sequence;

import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;

/** Limits of sequence generators. */
@ConfigMapping(prefix = "annals.sequence")
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
    @DurationMin(millis = 1)
    @DurationMax(hours = 1)
    Duration retryDelay();

    /** The longest wait between two tries. */
    @WithDefault("2s")
    @DurationMin(millis = 1)
    @DurationMax(hours = 1)
    Duration maxRetryDelay();
}
