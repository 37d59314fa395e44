package dev.annals;

import io.quarkus.test.junit.QuarkusTestProfile;
import java.util.Map;

/**
 * The service in which nothing happens until a test wants it: nothing is projected in the background, and the few requests
 * that may wait for ids that others hold do so for longer than any test takes. It has memory for two pages at a time, of which
 * one project may have one.
 */
public class NothingByItself implements QuarkusTestProfile {

    public static final int HELD_REQUESTS = 8;
    public static final int BATCH = 20;

    @Override
    public Map<String, String> getConfigOverrides() {
        return Map.of(
                "annals.projection.enabled", "false",
                "annals.append.held-wait", "5M",
                "annals.append.held-requests", Integer.toString(HELD_REQUESTS),
                "annals.append.bulk-records", Integer.toString(BATCH),
                "annals.memory.bytes", "33554432",
                "annals.memory.caller-percent", "50",
                "annals.memory.caller-bytes", "1048576",
                "annals.memory.max-wait", "20s",
                "annals.feed.page-bytes", "4194304",
                "annals.feed.idle", "2s");
    }
}
