package dev.annals.derived.alert;

import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;

/** Limits on alerts. */
@ConfigMapping(prefix = "annals.alerts")
// A native executable would otherwise lack these methods.
@RegisterForReflection(fields = false)
public interface AlertConfig {

    /** Whether this instance counts for alerts. If none does, no alert is raised. */
    @WithDefault("true")
    boolean enabled();

    /** The most alerts of a project. */
    @WithDefault("20")
    @Min(1)
    @Max(1_000)
    int perProject();
}
