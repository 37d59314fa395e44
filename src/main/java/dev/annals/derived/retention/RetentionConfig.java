package dev.annals.derived.retention;

import dev.annals.kernel.config.ConfigLimits.Durations;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** The removal of expired records. The retention of a project is no setting: administrators set it. */
@ConfigMapping(prefix = "annals.retention")
// A native executable would otherwise lack these methods.
@RegisterForReflection(fields = false)
public interface RetentionConfig {

    /** Whether this instance removes records that have expired. If none does, they stay. */
    @WithDefault("true")
    boolean enabled();

    /** The interval at which expired records are removed. A removal appends an event. */
    @WithDefault("1H")
    @Durations(min = "100ms", max = "24H")
    Duration interval();
}
