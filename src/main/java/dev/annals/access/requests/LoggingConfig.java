package dev.annals.access.requests;

import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;

/** The service's own log, on standard output. */
@ConfigMapping(prefix = "annals.logging")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface LoggingConfig {

    /** The format of log lines: {@code text}, or {@code json} for one object per line. */
    @WithDefault("text")
    LogFormat format();

    /** Whether each request is logged when it has ended. */
    @WithDefault("true")
    boolean requests();
}
