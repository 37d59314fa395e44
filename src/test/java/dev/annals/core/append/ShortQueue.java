package dev.annals.core.append;

import io.quarkus.test.junit.QuarkusTestProfile;
import java.util.Map;

/**
 * The service under a public URL, with queues that are soon full, with a wait of half a second for ids that others hold, and
 * with streams that end after half a second.
 */
public class ShortQueue implements QuarkusTestProfile {

    static final int REQUESTS = 10;
    static final int BATCH = 20;

    @Override
    public Map<String, String> getConfigOverrides() {
        return Map.of(
                "annals.append.queue-requests", Integer.toString(REQUESTS),
                "annals.append.queue-bytes", "100000",
                "annals.append.total-queue-bytes", "150000",
                "annals.append.batch-records", Integer.toString(BATCH),
                "annals.append.bulk-records", Integer.toString(BATCH),
                "annals.append.held-wait", "500ms",
                "annals.live.heartbeat", "50ms",
                "annals.live.stream-age", "500ms",
                "annals.public-url", "https://audit.example.org/logs/");
    }
}
