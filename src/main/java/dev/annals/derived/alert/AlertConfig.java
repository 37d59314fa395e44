package dev.annals.derived.alert;

import dev.annals.kernel.config.ConfigLimits.Durations;
import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** Alerts: how many there may be, and how much is counted at a time. */
@ConfigMapping(prefix = "annals.alerts")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface AlertConfig {

    /** Whether this instance counts for alerts. If no instance does, alerts stand still. */
    @WithDefault("true")
    boolean enabled();

    /** How long to wait after looking at the alerts and finding nothing new. */
    @WithDefault("1s")
    @Durations(min = "10ms", max = "10M")
    Duration interval();

    /** How many alerts a project may have. */
    @WithDefault("20")
    @Min(1)
    @Max(1_000)
    int perProject();

    /** How many alerts one look covers. If more of them are behind, those that wait longest come first. */
    @WithDefault("100")
    @Min(1)
    @Max(10_000)
    int perLook();

    /** How many steps are taken for each alert that is behind before the others have their turn. */
    @WithDefault("8")
    @Min(1)
    @Max(1_000)
    int steps();

    /** How many records one step looks at. After each failure of an alert it is half as many. */
    @WithDefault("1000")
    @Min(1)
    @Max(10_000)
    int records();

    /**
     * How long to leave an alert alone after a failure; the time doubles after each failure, up to {@link #maxRetryDelay()}.
     */
    @WithDefault("1s")
    @Durations(min = "1ms", max = "1H")
    Duration retryDelay();

    /** The longest time that an alert is left alone. */
    @WithDefault("5M")
    @Durations(min = "1ms", max = "24H")
    Duration maxRetryDelay();
}
