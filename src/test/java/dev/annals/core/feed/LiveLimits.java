package dev.annals.core.feed;

import io.quarkus.test.junit.QuarkusTestProfile;
import java.time.Duration;
import java.util.Map;

/** The service with frequent heartbeats, little patience, and room for few streams. */
public class LiveLimits implements QuarkusTestProfile {

    static final int STREAMS = 2_000;
    static final int PROJECT_STREAMS = STREAMS / 2;
    static final int WAITS = 10_000;
    static final int PROJECT_WAITS = WAITS / 2;
    static final int SCAN_LIMIT = 20;
    static final int TICK_MILLIS = 25;
    static final Duration HEARTBEAT = Duration.ofMillis(300);

    @Override
    public Map<String, String> getConfigOverrides() {
        return Map.of(
                "annals.live.streams",
                Integer.toString(STREAMS),
                "annals.live.waits",
                Integer.toString(WAITS),
                "annals.live.heartbeat",
                HEARTBEAT.toMillis() + "ms",
                "annals.feed.idle",
                "1s",
                "annals.search.scan-limit",
                Integer.toString(SCAN_LIMIT));
    }
}
