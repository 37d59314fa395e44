package dev.annals.derived.search;

import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;

/** Limits on filters and their index. */
@ConfigMapping(prefix = "annals.search")
// A native executable would otherwise lack these methods.
@RegisterForReflection(fields = false)
public interface SearchConfig {

    /** Records that a page with filters may read, besides those that the index rules out. Then it is short, with a {@code next}. */
    @WithDefault("5000")
    @Min(1)
    @Max(1_000_000)
    int scanLimit();
}
