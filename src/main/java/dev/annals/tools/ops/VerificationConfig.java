package dev.annals.tools.ops;

import dev.annals.kernel.config.ConfigLimits.Durations;
import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** How feeds are verified in the background. */
@ConfigMapping(prefix = "annals.verification")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface VerificationConfig {

    /** Whether this instance verifies feeds in the background. It takes a connection of its own for as long as it does. */
    @WithDefault("true")
    boolean enabled();

    /** How often to verify the records that a feed has taken in since, and the schema. */
    @WithDefault("1H")
    @Durations(min = "1s", max = "24H")
    Duration interval();

    /** How long after a round through all records of a feed the next round begins. */
    @WithDefault("168H")
    @Durations(min = "1s", max = "8760H")
    Duration round();

    /** How many records to verify per second at most. */
    @WithDefault("5000")
    @Min(1)
    @Max(1_000_000)
    int recordsPerSecond();
}
