package dev.annals.edges.export;

import dev.annals.kernel.config.ConfigLimits.Durations;
import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.time.Duration;

/** Limits on exports. */
@ConfigMapping(prefix = "annals.export")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface ExportConfig {

    /** How many exports may run at a time, for all projects together. */
    @WithDefault("8")
    @Min(1)
    @Max(1_000)
    int concurrent();

    /** How many exports may run at a time for one project. */
    @WithDefault("2")
    @Min(1)
    @Max(1_000)
    int concurrentPerProject();

    /** How long a client may read nothing before its connection is closed. */
    @WithDefault("60s")
    @Durations(min = "100ms", max = "1H")
    Duration idle();

    /** How many records an export reads from the database at a time. */
    @WithDefault("500")
    @Min(1)
    @Max(10_000)
    int pageRecords();

    /** How many bytes of JSON an export reads from the database at a time, unless a single record has more. */
    @WithDefault("1048576")
    @Min(65_536)
    @Max(67_108_864)
    int pageBytes();
}
