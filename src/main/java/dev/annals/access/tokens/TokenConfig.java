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
     * How many tokens are looked up at a time, other than those known to be valid; each look-up takes a connection from the
     * pool.
     */
    @WithDefault("4")
    @Min(1)
    @Max(1_000)
    int lookUps();

    /** How many such look-ups may wait; the next one fails at once. */
    @WithDefault("256")
    @Min(1)
    @Max(100_000)
    int waitingLookUps();

    /** How many look-ups may wait from addresses with more than {@link #failures()}; these are made one at a time. */
    @WithDefault("16")
    @Min(1)
    @Max(100_000)
    int waitingSuspects();

    /**
     * How long such a look-up may wait. For so long, too, requests with a token that was valid a moment ago wait for a database that
     * cannot be reached.
     */
    @WithDefault("10s")
    @Durations(min = "1ms", max = "10M")
    Duration lookUpWait();

    /**
     * How long it is remembered that a token is unknown. If another instance makes that token in the meantime, this one
     * still refuses it for that long.
     */
    @WithDefault("2s")
    @Durations(min = "1ms", max = "5M")
    Duration unknownTime();

    /**
     * How long a token that is known to be valid is not looked up again, and how often those of open streams, long polls,
     * exports and imports are. For so long, a token that was revoked by way of another instance may still be taken.
     */
    @WithDefault("2s")
    @Durations(min = "100ms", max = "4s")
    Duration recheck();

    /** How many requests without a valid token an address may send in {@link #failureTime()}. */
    @WithDefault("600")
    @Min(1)
    @Max(1_000_000)
    int failures();

    /** The time over which the failures of an address are counted. */
    @WithDefault("1M")
    @Durations(min = "1s", max = "1H")
    Duration failureTime();

    /** For how many addresses failures are counted at a time. */
    @WithDefault("10000")
    @Min(1)
    @Max(1_000_000)
    int addresses();
}
