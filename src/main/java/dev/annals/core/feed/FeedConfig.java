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
     * <p>A page ends before the record that would exceed them, with a {@code next}.
     */
    @WithDefault("2097152")
    @Min(65_536)
    @Max(67_108_864)
    int pageBytes();

    /**
     * The longest time that a client may read nothing of a page, a record or a stream; twice as long of an export.
     *
     * <p>Then the service closes its connection. It checks streams at heartbeats.
     */
    @WithDefault("30s")
    @Durations(min = "100ms", max = "1H")
    Duration idle();

    /**
     * Bytes of records kept in memory for readers of the ends of feeds.
     *
     * <p>For a page from memory, the database only confirms that the records still stand, once for all clients that read at the
     * same time. 0 keeps none.
     */
    @WithDefault("16777216")
    @Min(0)
    @Max(1_073_741_824)
    long keptBytes();
}
