package dev.annals.export;

import io.quarkus.test.junit.QuarkusTestProfile;
import java.util.Map;

/** The service with few exports at a time, which soon give a client up, and small pages. */
public class SmallExports implements QuarkusTestProfile {

    @Override
    public Map<String, String> getConfigOverrides() {
        return Map.of(
                "annals.export.concurrent", "3",
                "annals.export.concurrent-per-project", "2",
                "annals.export.page-records", "7",
                "annals.export.page-bytes", "65536",
                "annals.export.idle", "3s");
    }
}
