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

    /**
     * Bytes of JSON of a page, unless a single record has more. An export reads half as many at a time, a stream an eighth.
     *
     * <p>If the next record would exceed that, the page ends before it, with a {@code next}.
     */
    @WithDefault("2097152")
    @Min(65_536)
    @Max(67_108_864)
    int pageBytes();

    /**
     * How long a client may read nothing of a page, a record or a stream; twice as long of an export.
     *
     * <p>Then its connection is closed. A stream's is checked at heartbeats.
     */
    @WithDefault("30s")
    @Durations(min = "100ms", max = "1H")
    Duration idle();

    /**
     * Bytes of records kept in memory for readers of the ends of feeds.
     *
     * <p>Each such page then costs the database a proof that the records still stand there, one for all who read at the same time, and not the page. 0 keeps none.
     */
    @WithDefault("16777216")
    @Min(0)
    @Max(1_073_741_824)
    long keptBytes();
}
