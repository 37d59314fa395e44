package dev.annals;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.smallrye.config.PropertiesConfigSource;
import io.smallrye.config.SmallRyeConfigBuilder;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Map;
import org.eclipse.microprofile.config.Config;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A service that cannot listen says whether its address or its port is at fault. */
class ServePortsTest {

    private static Config config(String... settings) {
        return new SmallRyeConfigBuilder()
                .withSources(new PropertiesConfigSource(
                        Map.of("annals.port", "0", "annals.management.port", "0"), "of the test", 100))
                .withSources(new PropertiesConfigSource(Map.of(settings[0], settings[1]), "of one", 200))
                .build();
    }

    /** Unknown to name servers, of another machine, and no address at all. */
    @ParameterizedTest
    @CsvSource({
        "annals.management.host, nohost.invalid, ANNALS_MANAGEMENT_HOST",
        "annals.management.host, 192.0.2.1,      ANNALS_MANAGEMENT_HOST",
        "annals.management.host, '127.0.0.1:90', ANNALS_MANAGEMENT_HOST",
        "quarkus.http.host,      nohost.invalid, QUARKUS_HTTP_HOST"
    })
    void anAddressThatIsNotOfThisMachineIsAtFaultAndNotThePort(String name, String host, String variable) {
        assertThatThrownBy(() -> Serve.freePorts(config(name, host)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll(host, "Set " + variable + " to an address of this machine")
                .hasMessageNotContaining("another port");
    }

    @Test
    void aPortThatIsTakenIsAtFault() throws Exception {
        try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getByAddress(new byte[] {127, 0, 0, 1}))) {
            String port = Integer.toString(other.getLocalPort());
            assertThatThrownBy(() -> Serve.freePorts(config("annals.management.port", port)))
                    .hasMessageContainingAll(port, "ANNALS_MANAGEMENT_PORT", "another port");
        }
        assertThat(Serve.freePorts(config("annals.management.host", "127.0.0.1")))
                .containsExactly(0);
    }
}
