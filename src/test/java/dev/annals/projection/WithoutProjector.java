package dev.annals.projection;

import io.quarkus.test.junit.QuarkusTestProfile;
import java.util.Map;

/** The service with nothing in the background, so that a test decides what is projected when. */
public final class WithoutProjector implements QuarkusTestProfile {

    @Override
    public Map<String, String> getConfigOverrides() {
        return Map.of("annals.projection.enabled", "false");
    }
}
