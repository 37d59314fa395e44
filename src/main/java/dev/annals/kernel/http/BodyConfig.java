package dev.annals.kernel.http;

import dev.annals.kernel.config.ConfigLimits.Durations;
import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** Limits on request bodies. */
@ConfigMapping(prefix = "annals.body")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface BodyConfig {

    /** Bytes of a JSON body; NDJSON has no such limit. */
    @WithDefault("16777216")
    @Min(65_536)
    @Max(268_435_456)
    int maxBytes();

    /** The lowest rate at which a body may arrive, in bytes per second. */
    @WithDefault("1024")
    @Min(1)
    @Max(16_777_216)
    int rate();

    /** The time over which {@link #rate()} is measured: a sender may be silent for that long. */
    @WithDefault("30s")
    @Durations(min = "1s", max = "1H")
    Duration patience();
}
