package dev.annals.requests;

import dev.annals.config.ConfigLimits.Max;
import dev.annals.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;

/** The log of requests: one line on standard output for each. */
@ConfigMapping(prefix = "annals.requests")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface RequestsConfig {

    /** How the lines are written: {@code text} as {@code name=value} pairs, {@code json} as JSON objects, {@code off} not at all. */
    @WithDefault("text")
    LogFormat log();

    /**
     * How many lines may wait to be written. A request never waits for its line: if standard output is that far behind, lines
     * are left out, and {@code annals_requests_log_dropped_total} counts them.
     */
    @WithDefault("8192")
    @Min(1)
    @Max(1_000_000)
    int logQueue();
}
