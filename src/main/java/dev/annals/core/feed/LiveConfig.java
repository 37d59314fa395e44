package dev.annals.core.feed;

import dev.annals.kernel.config.ConfigLimits.Durations;
import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** Limits on long polls and streams. All counts are per instance of the service. */
@ConfigMapping(prefix = "annals.live")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface LiveConfig {

    /** Long polls that may wait; half of them of one project. */
    @WithDefault("20000")
    @Min(1)
    @Max(1_000_000)
    int waits();

    /** Event streams that may be open; half of them of one project. */
    @WithDefault("5000")
    @Min(1)
    @Max(1_000_000)
    int streams();

    /**
     * The longest silence of a stream: less than proxies allow.
     *
     * <p>Then it sends a comment, or its cursor.
     */
    @WithDefault("15s")
    @Durations(min = "10ms", max = "5M")
    Duration heartbeat();

    /**
     * After this time a stream ends, so that its client shows its token again.
     *
     * <p>The service checks it at heartbeats.
     */
    @WithDefault("1h")
    @Durations(min = "10ms", max = "7D")
    Duration streamAge();
}
