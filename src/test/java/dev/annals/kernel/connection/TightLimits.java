package dev.annals.kernel.connection;

import dev.annals.access.tokens.FewLookUps;
import io.quarkus.test.junit.QuarkusTestProfile;
import java.util.Map;
import java.util.Set;

/** The service with small limits, so that tests reach them. */
public class TightLimits implements QuarkusTestProfile {

    /** For all callers' bodies together; a caller has half of it, and a byte of a body takes four. */
    public static final int MEMORY_BYTES = 4 << 20;

    public static final int CONNECTIONS_PER_ADDRESS = 20;
    public static final int FAILURES = 20;

    @Override
    public Map<String, String> getConfigOverrides() {
        return Map.ofEntries(
                Map.entry("annals.trusted-proxies", "127.0.0.1"),
                Map.entry("annals.memory.bytes", Integer.toString(MEMORY_BYTES)),
                Map.entry("annals.memory.caller-bytes", Integer.toString(MEMORY_BYTES / 2)),
                // A caller's memory has room for a page.
                Map.entry("annals.feed.page-bytes", "65536"),
                Map.entry("annals.body.patience", "1s"),
                Map.entry("annals.body.rate", "100000"),
                Map.entry("annals.connections.per-address", Integer.toString(CONNECTIONS_PER_ADDRESS)),
                Map.entry("annals.connections.head-time", "500ms"),
                Map.entry("annals.connections.idle-time", "3s"),
                Map.entry("annals.token.recheck", "4s"),
                Map.entry("annals.token.failures", Integer.toString(FAILURES)));
    }

    @Override
    public Set<Class<?>> getEnabledAlternatives() {
        return Set.of(FewLookUps.class);
    }
}
