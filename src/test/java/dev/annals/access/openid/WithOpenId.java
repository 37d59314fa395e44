package dev.annals.access.openid;

import dev.annals.Ports;
import io.quarkus.test.common.QuarkusTestResourceLifecycleManager;
import io.quarkus.test.junit.QuarkusTestProfile;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The service with an OpenID provider, whose keys count for a short time. Without Node it has none. */
public class WithOpenId implements QuarkusTestProfile {

    @Override
    public List<TestResourceEntry> testResources() {
        return List.of(new TestResourceEntry(ProviderResource.class));
    }

    /** Starts the provider, and tells the service of it. */
    public static class ProviderResource implements QuarkusTestResourceLifecycleManager {

        private Optional<OpenIdProvider.Started> started = Optional.empty();

        @Override
        public Map<String, String> start() {
            int port = Ports.free();
            String url = "http://localhost:" + port;
            try {
                started = OpenIdProvider.start(url + "/v1/session/callback");
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
            return started.<Map<String, String>>map(there -> Map.ofEntries(
                            Map.entry("quarkus.http.test-port", Integer.toString(port)),
                            Map.entry("annals.public-url", url),
                            // The logs of the database are those of the other tests, too.
                            Map.entry("annals.log.host", "localhost"),
                            Map.entry("annals.openid.issuer", there.provider().issuer()),
                            Map.entry("annals.openid.audience", OpenIdProvider.AUDIENCE),
                            Map.entry("annals.openid.client-id", "annals-viewer"),
                            Map.entry("annals.openid.key-time", "1s"),
                            Map.entry("annals.openid.key-outage", "5s"),
                            Map.entry("annals.openid.clock-skew", "0s"),
                            Map.entry("annals.token.failures", "1000000")))
                    .orElse(Map.of());
        }

        @Override
        public void stop() {
            started.ifPresent(OpenIdProvider.Started::close);
        }
    }
}
