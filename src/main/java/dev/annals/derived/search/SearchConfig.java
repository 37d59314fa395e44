package dev.annals.derived.search;

import dev.annals.kernel.config.ConfigLimits.Max;
import dev.annals.kernel.config.ConfigLimits.Min;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;

/** Limits on filters and their index. */
@ConfigMapping(prefix = "annals.search")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface SearchConfig {

    /**
     * How many records a page with filters may look at, not counting those that the index rules out. After that the page
     * comes back short, with a {@code next}.
     */
    @WithDefault("5000")
    @Min(1)
    @Max(1_000_000)
    int scanLimit();

    /**
     * The longest message, in bytes of UTF-8, whose words are indexed, if it has at most 256. A page that searches for words
     * looks at all others. A change applies to new blocks of the index; a rebuild applies it to all.
     */
    @WithDefault("4096")
    @Min(0)
    @Max(65_535)
    int indexedMessageBytes();
}
