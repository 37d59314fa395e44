package dev.annals.feed;

import io.quarkus.test.junit.QuarkusTestProfile;
import java.util.Map;

/** The service with filtered pages that look at five records, and with a trusted proxy that no test comes from. */
public class SmallScans implements QuarkusTestProfile {

    static final int SCAN_LIMIT = 5;

    @Override
    public Map<String, String> getConfigOverrides() {
        return Map.of(
                "annals.search.scan-limit",
                Integer.toString(SCAN_LIMIT),
                "annals.trusted-proxies",
                "192.0.2.1,10.0.0.0/8");
    }
}
