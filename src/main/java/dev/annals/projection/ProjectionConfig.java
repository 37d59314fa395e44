package dev.annals.projection;

import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;

/** Limits of what runs in the background: statistics and the index of the search. */
@ConfigMapping(prefix = "annals.projection")
public interface ProjectionConfig {

    /**
     * Whether this instance projects. Where none does, statistics stand still, and pages with filters look at every
     * record.
     */
    @WithDefault("true")
    boolean enabled();

    /** How long to wait after a look at the feeds that found nothing new. */
    @WithDefault("1s")
    @DurationMin(millis = 10)
    @DurationMax(minutes = 10)
    Duration interval();

    /** How many projects one look is at. With more of them, what is new in one is noticed some looks later. */
    @WithDefault("1000")
    @Min(1)
    @Max(10_000)
    int projects();

    /** How many steps one look leads to in each project that is behind, before the others have their turn. */
    @WithDefault("8")
    @Min(1)
    @Max(1_000)
    int steps();

    /** How many records one step takes in, at most, where the projection does not say otherwise. */
    @WithDefault("1000")
    @Min(1)
    @Max(10_000)
    int records();

    /**
     * How long to leave a project alone after a failure; the time doubles from failure to failure, up to {@link
     * #maxRetryDelay()}.
     */
    @WithDefault("1s")
    @DurationMin(millis = 1)
    @DurationMax(hours = 1)
    Duration retryDelay();

    /** The longest such time. */
    @WithDefault("5M")
    @DurationMin(millis = 1)
    @DurationMax(hours = 24)
    Duration maxRetryDelay();
}
