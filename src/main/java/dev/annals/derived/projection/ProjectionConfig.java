package dev.annals.derived.projection;

import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;

/** Work in the background: statistics, the search index and logs. */
@ConfigMapping(prefix = "annals.projection")
// A native executable would otherwise lack these methods.
@RegisterForReflection(fields = false)
public interface ProjectionConfig {

    /**
     * Whether this instance updates statistics, the search index and logs. If none does, they fall behind.
     *
     * <p>Pages with filters then read every record.
     */
    @WithDefault("true")
    boolean enabled();
}
