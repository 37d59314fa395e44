package dev.annals.core.feed;

import dev.annals.kernel.config.ConfigLimits.Durations;
import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** Limits on reading. */
@ConfigMapping(prefix = "annals.feed")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface FeedConfig {

    /** How many records a page has if the reader gives no limit. */
    @WithDefault("200")
    @Min(1)
    @Max(1000)
    int defaultLimit();

    /** How many records a page may have. */
    @WithDefault("1000")
    @Min(1)
    @Max(10_000)
    int maxLimit();

    /**
     * How many bytes the records of a page may have as JSON. If the next record would exceed that, the page ends before it,
     * with a {@code next}. A record that is larger by itself gets a page of its own.
     */
    @WithDefault("2097152")
    @Min(65_536)
    @Max(67_108_864)
    int pageBytes();

    /** How long a client that is being sent a page or a record may read nothing before its connection is closed. */
    @WithDefault("30s")
    @Durations(min = "100ms", max = "1H")
    Duration idle();

    /**
     * How many bytes of records are kept in memory for those who read the ends of feeds. Each such page then costs the database
     * a proof that the records still stand there, one for all who read at the same time, and not the page. 0 keeps none.
     */
    @WithDefault("16777216")
    @Min(0)
    @Max(1_073_741_824)
    long keptBytes();
}
