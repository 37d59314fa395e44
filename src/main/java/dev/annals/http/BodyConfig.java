package dev.annals.http;

import dev.annals.config.ConfigLimits.Durations;
import dev.annals.config.ConfigLimits.Max;
import dev.annals.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** Limits of the bodies of requests. */
@ConfigMapping(prefix = "annals.body")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface BodyConfig {

    /** How many bytes of JSON a request may have, other than NDJSON, which is taken as it streams in. */
    @WithDefault("16777216")
    @Min(65_536)
    @Max(268_435_456)
    int maxBytes();

    /**
     * How many times as long as it was sent a body may become that came as gzip; its first MiB counts for nothing. What it
     * becomes counts against every other limit, too.
     */
    @WithDefault("100")
    @Min(10)
    @Max(1_100)
    int maxUnpackRatio();

    /** How long a whole body may take, other than NDJSON. */
    @WithDefault("2M")
    @Durations(min = "1s", max = "1H")
    Duration time();

    /** How many bytes a second of a body must come, as long as the service reads it. */
    @WithDefault("1024")
    @Min(1)
    @Max(16_777_216)
    int rate();

    /** Over how much time {@link #rate()} is measured: a sender may be silent for as long. */
    @WithDefault("30s")
    @Durations(min = "1s", max = "1H")
    Duration patience();
}
