package dev.annals.record;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class IpAddressTest {

    @ParameterizedTest
    @CsvSource({
        "185.98.122.110, 185.98.122.110",
        "0.0.0.0, 0.0.0.0",
        "255.255.255.255, 255.255.255.255",
        "::, ::",
        "::1, ::1",
        "1::, 1::",
        "2001:DB8::1, 2001:db8::1",
        "2001:0db8:0000:0000:0000:0000:0000:0001, 2001:db8::1",
        "2001:db8:0:0:1:0:0:1, 2001:db8::1:0:0:1",
        "2001:db8:0:1:1:1:1:1, 2001:db8:0:1:1:1:1:1",
        "1:2:3:4:5:6:7::, 1:2:3:4:5:6:7:0",
        "0:0:0:0:0:ffff:192.0.2.1, ::ffff:192.0.2.1",
        "::ffff:c000:201, ::ffff:192.0.2.1",
        "::192.0.2.1, ::192.0.2.1",
        "::1:2, ::0.1.0.2",
        "64:ff9b::192.0.2.33, 64:ff9b::c000:221",
        "1:2:3:4:5:6:1.2.3.4, 1:2:3:4:5:6:102:304",
        "fe80::1, fe80::1",
        "1:0:0:2:0:0:0:3, 1:0:0:2::3",
    })
    void anAddressIsWrittenAsPostgresqlWritesIt(String text, String canonical) {
        assertThat(IpAddress.canonical(text)).isEqualTo(canonical);
        assertThat(IpAddress.canonical(canonical)).isEqualTo(canonical);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                "localhost",
                "example.org",
                "1",
                "1.2.3",
                "1.2.3.4.5",
                "1.2.3.256",
                "1.2.3.04",
                "01.2.3.4",
                "1.2.3.4 ",
                " 1.2.3.4",
                "1.2.3.4/32",
                "1.2.3.-4",
                "1.2.3.4.",
                ".1.2.3.4",
                "1..2.3",
                "0x1.2.3.4",
                "1.2.3.٤",
                "2001:db8::1/64",
                "fe80::1%eth0",
                "[::1]",
                ":",
                ":::",
                "1:::2",
                "1::2::3",
                ":1",
                "1:",
                "1:2:3:4:5:6:7",
                "1:2:3:4:5:6:7:8:9",
                "1:2:3:4:5:6:7:8::",
                "::1:2:3:4:5:6:7:8",
                "12345::",
                "g::",
                "::1.2.3",
                "::1.2.3.256",
                "1.2.3.4::",
                "::1.2.3.4:5",
                "1:2:3:4:5:6:7:1.2.3.4",
                "::+1",
                "١::",
                "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.2555"
            })
    void whatIsNoAddressIsRefused(String text) {
        assertThat(IpAddress.canonical(text)).isNull();
    }

    @Test
    void everyAddressMeansTheSameBeforeAndAfter() throws UnknownHostException {
        Random random = new Random(4);
        for (int i = 0; i < 20_000; i++) {
            StringBuilder text = new StringBuilder();
            for (int group = 0; group < 8; group++) {
                int value = random.nextInt(3) == 0 ? random.nextInt(0x10000) : 0;
                text.append(group == 0 ? "" : ":").append(Integer.toHexString(value));
            }
            String canonical = IpAddress.canonical(text.toString());
            assertThat(InetAddress.getByName(canonical)).isEqualTo(InetAddress.getByName(text.toString()));
            assertThat(IpAddress.canonical(canonical)).isEqualTo(canonical);
        }
    }
}
