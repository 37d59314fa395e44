package dev.annals.kernel.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import dev.annals.SqlFixture;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@BesideTheService
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
        "0:0:0:0:0:ffff:192.0.2.1, 192.0.2.1",
        "::ffff:192.0.2.1, 192.0.2.1",
        "::FFFF:c000:201, 192.0.2.1",
        "0:0:0:0:0:ffff::, 0.0.0.0",
        "::ffff:0:192.0.2.1, ::ffff:0:c000:201",
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
    void textThatIsNoAddressIsRefused(String text) {
        assertThat(IpAddress.canonical(text)).isNull();
    }

    @ParameterizedTest
    @CsvSource({
        "10.0.0.0, 8, 8",
        "10.0.0.0, 33, -1",
        "10.0.0.0, 08, -1",
        "::, 0, 0",
        "2001:db8::, 128, 128",
        "2001:db8::, 129, -1",
        "::ffff:10.0.0.0, 104, 8",
        "::ffff:a00:0, 128, 32",
        "0::ffff:0:0, 96, 0",
        "::ffff:10.0.0.0, 95, -1",
        "::ffff:10.0.0.0, 8, -1",
        "::ffff:10.0.0.0, 129, -1",
        "10.0.0.0, x, -1",
    })
    void aNetworkOfMappedAddressesHasThePrefixOfTheIpv4Network(String address, String length, int bits) {
        assertThat(IpAddress.prefixBits(address, length)).isEqualTo(bits);
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

    /** A page shows the text of PostgreSQL: leaves of logs hash it. */
    @Test
    void addressesSentByPostgresqlAreWrittenAsPostgresqlWritesThem() throws SQLException {
        try (Connection connection = SqlFixture.ofTheSchemaAlone().connect();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("""
                        with bit as (select n, random() < 0.2 as set from generate_series(1, 4000) n, generate_series(1, 8)),
                        v6 as (
                          select string_agg(case when set then to_hex((random() * 65535)::int) else '0' end, ':') as ip
                          from bit group by n
                        ), v4 as (
                          select concat_ws('.', n % 256, n % 7, (random() * 255)::int, 255 - n % 256) as ip
                          from generate_series(1, 1000) n
                        ), special (ip) as (
                          values ('::'), ('::1'), ('::ffff:1.2.3.4'), ('::1.2.3.4'), ('::ffff:0:1'), ('1::'), ('10.0.0.0/8')
                        )
                        select host(ip::inet) as host, inet_send(ip::inet) as sent
                        from (table v6 union all table v4 union all table special) as address""")) {
            int compared = 0;
            while (rows.next()) {
                assertThat(IpAddress.ofSent(rows.getBytes("sent"))).isEqualTo(rows.getString("host"));
                compared++;
            }
            assertThat(compared).isEqualTo(5007);
        }
    }

    @Test
    void bytesThatPostgresqlDoesNotSendAreRefused() {
        for (byte[] sent :
                new byte[][] {{}, {2, 32, 0, 4}, {2, 32, 0, 4, 1, 2, 3, 4, 5}, {2, 32, 0, -1}, {2, 32, 0, 0}}) {
            assertThatThrownBy(() -> IpAddress.ofSent(sent)).isInstanceOf(IllegalArgumentException.class);
        }
    }
}
