package dev.annals.derived.statistics;

import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;

/** Limits on statistics. */
@ConfigMapping(prefix = "annals.statistics")
// A native executable would otherwise lack these methods.
@RegisterForReflection(fields = false)
public interface StatisticsConfig {

    /**
     * Combinations of action, outcome and actor that statistics distinguish per project and day; further ones are counted together. A change needs a rebuild.
     *
     * <p>The limit holds for action and outcome, and separately for action, actor and outcome. Without it, a writer that invents an actor for every record would double the database.
     */
    @WithDefault("10000")
    @Min(1)
    @Max(1_000_000)
    int combinations();
}
