package dev.annals.derived.retention;

import dev.annals.kernel.config.ConfigLimits.Durations;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** How records are removed that have expired. For how long a project keeps them is no setting: administrators say so. */
@ConfigMapping(prefix = "annals.retention")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface RetentionConfig {

    /** Whether this instance removes records that have expired. If none does, they stay. */
    @WithDefault("true")
    boolean enabled();

    /** How often to look for them. Each look that finds some leaves an event. */
    @WithDefault("1H")
    @Durations(min = "100ms", max = "24H")
    Duration interval();
}
