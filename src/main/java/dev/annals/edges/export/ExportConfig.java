package dev.annals.edges.export;

import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;

/** Limits on exports. */
@ConfigMapping(prefix = "annals.export")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface ExportConfig {

    /** Exports at a time. */
    @WithDefault("8")
    @Min(1)
    @Max(1_000)
    int concurrent();

    /** Exports at a time for one project. */
    @WithDefault("2")
    @Min(1)
    @Max(1_000)
    int concurrentPerProject();
}
