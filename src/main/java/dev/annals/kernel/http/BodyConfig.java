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

    /** How many bytes a JSON body may have. NDJSON has no such limit: it is processed as it streams in. */
    @WithDefault("16777216")
    @Min(65_536)
    @Max(268_435_456)
    int maxBytes();

    /**
     * How many times its compressed size a gzip body may have when it is unpacked. The first MiB is always unpacked. All
     * other limits apply to the unpacked bytes.
     */
    @WithDefault("100")
    @Min(10)
    @Max(1_100)
    int maxUnpackRatio();

    /** How long a whole body may take to arrive. Does not apply to NDJSON. */
    @WithDefault("2M")
    @Durations(min = "1s", max = "1H")
    Duration time();

    /** The lowest rate, in bytes per second, at which a body may arrive while the service is reading it. */
    @WithDefault("1024")
    @Min(1)
    @Max(16_777_216)
    int rate();

    /** The time over which {@link #rate()} is measured: a sender may be silent for that long. */
    @WithDefault("30s")
    @Durations(min = "1s", max = "1H")
    Duration patience();
}
