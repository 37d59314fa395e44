package dev.annals.core.live;

import io.quarkus.test.junit.QuarkusTestProfile;
import java.time.Duration;
import java.util.Map;

/** The service with frequent heartbeats, little patience, and room for few streams. */
public class LiveLimits implements QuarkusTestProfile {

    static final int STREAMS = 1_200;
    static final int PROJECT_STREAMS = 1_000;
    static final int WAITS = 10_500;
    static final int PROJECT_WAITS = 5_000;
    static final int SCAN_LIMIT = 20;
    static final int TICK_MILLIS = 25;
    static final Duration HEARTBEAT = Duration.ofMillis(300);

    @Override
    public Map<String, String> getConfigOverrides() {
        return Map.of(
                "annals.live.streams",
                Integer.toString(STREAMS),
                "annals.live.project-streams",
                Integer.toString(PROJECT_STREAMS),
                "annals.live.waits",
                Integer.toString(WAITS),
                "annals.live.project-waits",
                Integer.toString(PROJECT_WAITS),
                "annals.live.tick",
                TICK_MILLIS + "ms",
                "annals.live.heads-per-statement",
                "5",
                "annals.live.heartbeat",
                HEARTBEAT.toMillis() + "ms",
                "annals.live.stall",
                "1s",
                "annals.search.scan-limit",
                Integer.toString(SCAN_LIMIT));
    }
}
