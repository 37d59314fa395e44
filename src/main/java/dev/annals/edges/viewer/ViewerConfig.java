package dev.annals.edges.viewer;

import dev.annals.kernel.config.ConfigLimits.Texts;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigMapping;
import java.util.List;
import java.util.Optional;

/** The viewer. */
@ConfigMapping(prefix = "annals.viewer")
// A native executable would have none of these methods to ask for their limits.
@RegisterForReflection(fields = false)
public interface ViewerConfig {

    /** The origins of pages that may show the viewer in a frame. Default: none. */
    @Texts("https?://[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?")
    Optional<List<String>> frameAncestors();
}
