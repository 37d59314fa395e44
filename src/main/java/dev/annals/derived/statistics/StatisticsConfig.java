package dev.annals.derived.statistics;

import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;

/** Limits on statistics. */
@ConfigMapping(prefix = "annals.statistics")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface StatisticsConfig {

    /**
     * Combinations of action, outcome and actor that statistics keep per project and day; further ones are counted together. A change needs a rebuild.
     *
     * <p>So many of action and outcome, and besides as many of action, actor and outcome. Otherwise a writer that makes up an actor for every record would double the database.
     */
    @WithDefault("10000")
    @Min(1)
    @Max(1_000_000)
    int combinations();
}
