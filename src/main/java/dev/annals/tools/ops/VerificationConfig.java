package dev.annals.tools.ops;

import dev.annals.kernel.config.ConfigLimits.Durations;
import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** Verification of feeds in the background. */
@ConfigMapping(prefix = "annals.verification")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface VerificationConfig {

    /** Whether this instance verifies feeds in the background, on a connection of its own. */
    @WithDefault("true")
    boolean enabled();

    /** The interval at which new records and the schema are verified. */
    @WithDefault("1H")
    @Durations(min = "1s", max = "24H")
    Duration interval();

    /** The time between two verifications of all records of a feed. */
    @WithDefault("168H")
    @Durations(min = "1s", max = "8760H")
    Duration round();

    /** Records verified per second. */
    @WithDefault("5000")
    @Min(1)
    @Max(1_000_000)
    int recordsPerSecond();
}
