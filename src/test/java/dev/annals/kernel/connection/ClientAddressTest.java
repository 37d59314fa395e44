package dev.annals.kernel.connection;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.BesideTheService;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@BesideTheService
class ClientAddressTest {

    @ParameterizedTest
    @CsvSource({
        "192.0.2.7, c0000207",
        "::ffff:192.0.2.7, c0000207",
        "2001:db8:1:2:3:4:5:6, 20010db800010002",
        "2001:db8:1:2::9, 20010db800010002"
    })
    void anIpv6AddressStandsForItsNetworkHoweverAProxyWritesIt(String text, String client) {
        assertThat(ClientAddress.of(text)).isEqualTo(client);
    }

    @Test
    void aMappedAddressOfAConnectionIsAnIpv4Address() throws UnknownHostException {
        byte[] mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -64, 0, 2, 7};
        InetAddress address = Inet6Address.getByAddress(null, mapped, -1);

        assertThat(ClientAddress.of(address)).isEqualTo("c0000207");
    }
}
