package dev.annals.core.feed;

import io.quarkus.test.junit.QuarkusTestProfile;
import java.util.Map;

/**
 * The service with pages of the fewest bytes, which look at five records where they are filtered; with few exports at a
 * time, which soon give a client up; and with a trusted proxy that no test comes from.
 */
public class SmallPages implements QuarkusTestProfile {

    static final int SCAN_LIMIT = 5;
    static final int PAGE_BYTES = 65_536;

    @Override
    public Map<String, String> getConfigOverrides() {
        return Map.of(
                "annals.search.scan-limit", Integer.toString(SCAN_LIMIT),
                "annals.trusted-proxies", "192.0.2.1,10.0.0.0/8,::ffff:198.51.100.0/120",
                "annals.feed.page-bytes", Integer.toString(PAGE_BYTES),
                "annals.export.concurrent", "3",
                "annals.export.concurrent-per-project", "2",
                "annals.feed.idle", "4s");
    }
}
