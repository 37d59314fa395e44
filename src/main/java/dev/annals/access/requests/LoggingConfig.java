package dev.annals.access.requests;

import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;

/** The service's own log, on standard output. */
@ConfigMapping(prefix = "annals.logging")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface LoggingConfig {

    /** The format of all lines: {@code text}, or {@code json} for one JSON object per line. */
    @WithDefault("text")
    LogFormat format();

    /** Whether each request is logged when it has ended. */
    @WithDefault("true")
    boolean requests();

    /**
     * How many lines may wait to be written. Nothing waits for its line: if standard output is that far behind, lines are left
     * out, and {@code annals_requests_log_dropped_total} counts them.
     */
    @WithDefault("8192")
    @Min(1)
    @Max(1_000_000)
    int queue();
}
