package dev.annals.derived.facets;

import dev.annals.kernel.config.ConfigLimits.Durations;
import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** Limits on facets. All counts are per instance of the service. */
@ConfigMapping(prefix = "annals.facets")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface FacetsConfig {

    /**
     * How many records a request may look at, not counting those that the index rules out. After that its answer says that
     * it is incomplete, and has the newest ones.
     */
    @WithDefault("200000")
    @Min(1)
    @Max(10_000_000)
    int records();

    /** How long a request may look at records. After that its answer is incomplete, too. */
    @WithDefault("5s")
    @Durations(min = "10ms", max = "1M")
    Duration time();

    /**
     * How many requests are counted at a time, each for another project; each takes up to two connections from the pool for
     * reads.
     */
    @WithDefault("2")
    @Min(1)
    @Max(1_000)
    int concurrent();
}
