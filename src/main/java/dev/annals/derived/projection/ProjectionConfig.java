package dev.annals.derived.projection;

import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;

/** Limits on work in the background: statistics and the search index. */
@ConfigMapping(prefix = "annals.projection")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface ProjectionConfig {

    /**
     * Whether this instance keeps statistics, the search index and logs. If none does, they stand still.
     *
     * <p>Pages with filters then look at every record.
     */
    @WithDefault("true")
    boolean enabled();
}
