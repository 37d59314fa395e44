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
     * How many combinations of action and outcome a project's day may have, and besides, how many of action, actor and outcome. The
     * records of further ones are counted together, without any of the three; otherwise a writer that makes up an actor for
     * every record would double the database. A change needs a rebuild if there are statistics already.
     */
    @WithDefault("10000")
    @Min(1)
    @Max(1_000_000)
    int combinations();
}
