package dev.annals.derived.facets;

import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;

/** Limits on facets. All counts are per instance of the service. */
@ConfigMapping(prefix = "annals.facets")
// A native executable would otherwise lack these methods.
@RegisterForReflection(fields = false)
public interface FacetsConfig {

    /**
     * Records that a request for facets may read. Then its answer says that it is incomplete.
     *
     * <p>Records that the index rules out do not count. The answer has the newest ones.
     */
    @WithDefault("200000")
    @Min(1)
    @Max(10_000_000)
    int records();

    /** Such requests to a database at a time, each for another project and with up to two connections. */
    @WithDefault("2")
    @Min(1)
    @Max(1_000)
    int concurrent();
}
