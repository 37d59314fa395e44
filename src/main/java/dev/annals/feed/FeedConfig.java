package dev.annals.feed;

import dev.annals.config.ConfigLimits.Durations;
import dev.annals.config.ConfigLimits.Max;
import dev.annals.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** Limits of reading. */
@ConfigMapping(prefix = "annals.feed")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface FeedConfig {

    /** How many records a page has where the reader names no limit. */
    @WithDefault("200")
    @Min(1)
    @Max(1000)
    int defaultLimit();

    /** How many records a page has at most. */
    @WithDefault("1000")
    @Min(1)
    @Max(10_000)
    int maxLimit();

    /**
     * How many bytes the records of a page have as JSON, at most; where one more would pass it, the page ends before that
     * one, with a {@code next}. A record that is larger has a page of its own.
     */
    @WithDefault("2097152")
    @Min(65_536)
    @Max(67_108_864)
    int pageBytes();

    /** How long a client may take nothing of a page or a record before its connection is closed. */
    @WithDefault("30s")
    @Durations(min = "100ms", max = "1H")
    Duration idle();
}
