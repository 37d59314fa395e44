package dev.annals.derived.projection;

import dev.annals.kernel.config.ConfigLimits.Durations;
import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** Limits on work in the background: statistics and the search index. */
@ConfigMapping(prefix = "annals.projection")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface ProjectionConfig {

    /**
     * Whether this instance does such work. If no instance does, statistics stand still, and pages with filters look at
     * every record.
     */
    @WithDefault("true")
    boolean enabled();

    /**
     * How long to wait after looking at the feeds and finding nothing new. Where one look does not cover all projects, the next one may
     * come sooner.
     */
    @WithDefault("1s")
    @Durations(min = "10ms", max = "10M")
    Duration interval();

    /** How many projects one look covers, besides those that have just got records. If there are more, the next looks cover them. */
    @WithDefault("1000")
    @Min(1)
    @Max(10_000)
    int projects();

    /** How many steps are taken in each project that is behind before the others have their turn. */
    @WithDefault("8")
    @Min(1)
    @Max(1_000)
    int steps();

    /** How many records one step takes in at most, unless the projection says otherwise. */
    @WithDefault("1000")
    @Min(1)
    @Max(10_000)
    int records();

    /**
     * How long to leave a project alone after a failure; the time doubles after each failure, up to {@link
     * #maxRetryDelay()}.
     */
    @WithDefault("1s")
    @Durations(min = "1ms", max = "1H")
    Duration retryDelay();

    /** The longest time that a project is left alone. */
    @WithDefault("5M")
    @Durations(min = "1ms", max = "24H")
    Duration maxRetryDelay();
}
