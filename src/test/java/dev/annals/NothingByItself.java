package dev.annals;

import dev.annals.core.append.AppendBounds;
import io.quarkus.test.junit.QuarkusTestProfile;
import jakarta.enterprise.inject.Alternative;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.Set;

/**
 * A service without background work: nothing is projected until a test asks for it. It has memory for two pages at a time; one project may use one of them.
 */
public class NothingByItself implements QuarkusTestProfile {

    public static final int BATCH = 20;

    @Override
    public Map<String, String> getConfigOverrides() {
        return Map.of(
                "annals.projection.enabled", "false",
                "annals.memory.bytes", "33554432",
                "annals.memory.caller-bytes", "16777216",
                "annals.memory.max-wait", "20s",
                "annals.feed.page-bytes", "4194304",
                "annals.feed.idle", "2s");
    }

    @Override
    public Set<Class<?>> getEnabledAlternatives() {
        return Set.of(SmallImports.class);
    }

    @Alternative
    @Singleton
    static class SmallImports extends AppendBounds {

        @Override
        public int bulkRecords() {
            return BATCH;
        }
    }
}
