package dev.annals.access.tokens;

import dev.annals.kernel.config.ConfigLimits.Durations;
import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** Limits on what requests with unknown tokens may cost, and on how long tokens count that have ended. */
@ConfigMapping(prefix = "annals.token")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface TokenConfig {

    /**
     * How long is believed what is known of a token, valid or not. For so long, one that another instance has revoked may still be taken.
     *
     * <p>Those of open streams, long polls, exports and imports are looked up as often. A token that another instance has made is refused for so long, if it was tried before.
     */
    @WithDefault("2s")
    @Durations(min = "100ms", max = "4s")
    Duration recheck();

    /** Requests without a valid token that an address may send per minute. */
    @WithDefault("600")
    @Min(1)
    @Max(1_000_000)
    int failures();
}
