package dev.annals.access.tokens;

import dev.annals.kernel.config.ConfigLimits.Durations;
import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** The check of tokens. */
@ConfigMapping(prefix = "annals.token")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface TokenConfig {

    /**
     * The time for which a look-up of a token is cached. A token that another instance has revoked is accepted until then.
     *
     * <p>Tokens of open streams, long polls, exports and imports are looked up as often. A token that was tried before another instance issued it is refused until then.
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
