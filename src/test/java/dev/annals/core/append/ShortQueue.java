package dev.annals.core.append;

import io.quarkus.test.junit.QuarkusTestProfile;
import jakarta.enterprise.inject.Alternative;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.Set;

/**
 * The service under a public URL, with queues that are soon full, and with streams that end after half a second.
 */
public class ShortQueue implements QuarkusTestProfile {

    static final int REQUESTS = 10;
    static final int BATCH = 20;

    @Override
    public Map<String, String> getConfigOverrides() {
        return Map.of(
                "annals.append.total-queue-bytes", "150000",
                "annals.live.heartbeat", "50ms",
                "annals.live.stream-age", "500ms",
                "annals.public-url", "https://audit.example.org/logs/");
    }

    @Override
    public Set<Class<?>> getEnabledAlternatives() {
        return Set.of(Small.class);
    }

    @Alternative
    @Singleton
    static class Small extends AppendBounds {

        @Override
        public int queueRequests() {
            return REQUESTS;
        }

        @Override
        public long queueBytes() {
            return 100_000;
        }

        @Override
        public int batchRecords() {
            return BATCH;
        }

        @Override
        public int bulkRecords() {
            return BATCH;
        }
    }
}
