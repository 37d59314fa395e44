package dev.annals.edges.delivery;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import io.vertx.core.Vertx;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sinks are only where the operator allows them, whatever a name resolves to. */
@BesideTheService
class TargetsTest {

    private static final Vertx VERTX = Vertx.vertx();
    private static final Map<String, List<String>> NAMES = Map.of(
            "hooks.example.org", List.of("93.184.216.34"),
            "mixed.example.org", List.of("127.0.0.1", "93.184.216.34"),
            "inside.example.org", List.of("10.1.2.3"),
            "loop.example.org", List.of("127.0.0.1", "::1"));

    @AfterAll
    static void close() {
        VERTX.close().toCompletionStage().toCompletableFuture().join();
    }

    private static InetAddress[] addresses(String host) throws UnknownHostException {
        List<String> known = NAMES.getOrDefault(host, List.of(host));
        InetAddress[] addresses = new InetAddress[known.size()];
        for (int i = 0; i < addresses.length; i++) {
            addresses[i] = InetAddress.getAllByName(known.get(i))[0];
        }
        return addresses;
    }

    private static String resolved(String host, String... allowed) {
        return new Targets(List.of(allowed), TargetsTest::addresses, VERTX)
                .resolve(host)
                .await()
                .indefinitely()
                .getHostAddress();
    }

    private static void assertRefused(String host, String... allowed) {
        assertThatThrownBy(() -> resolved(host, allowed))
                .as(host)
                .isInstanceOf(Targets.RefusedTargetException.class)
                .hasMessageContaining("ANNALS_STREAMS_ALLOWED_HOSTS");
    }

    @Test
    void theStreamsOfLinksDoNotGoToThePrivateAddressesThatTheSettingsName() {
        Targets settings =
                new Targets(List.of("127.0.0.1", "10.0.0.0/8", "93.184.216.0/24"), TargetsTest::addresses, VERTX);
        for (String host : List.of("127.0.0.1", "inside.example.org", "loop.example.org")) {
            assertThat(settings.resolve(host).await().indefinitely()).isNotNull();
            assertThatThrownBy(() -> settings.onlyPublic().resolve(host).await().indefinitely())
                    .as(host)
                    .isInstanceOf(Targets.RefusedTargetException.class);
        }
        assertThat(settings.onlyPublic().resolve("mixed.example.org").await().indefinitely())
                .isEqualTo(settings.resolve("hooks.example.org").await().indefinitely());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "127.0.0.1",
                "127.255.255.254",
                "0.0.0.0",
                "10.0.0.1",
                "172.16.0.1",
                "172.31.255.255",
                "192.168.1.1",
                "169.254.169.254",
                "100.64.0.1",
                "192.0.0.8",
                "192.0.2.1",
                "198.18.0.1",
                "198.51.100.1",
                "203.0.113.1",
                "224.0.0.1",
                "240.0.0.1",
                "255.255.255.255",
                "::",
                "::1",
                "::ffff:10.0.0.1",
                "::ffff:127.0.0.1",
                "fe80::1",
                "fc00::1",
                "fd12::1",
                "ff02::1",
                "64:ff9b::7f00:1",
                "2001::1",
                "2001:db8::1",
                "2002:7f00:1::1",
                "3fff::1",
                "inside.example.org",
                "loop.example.org"
            })
    void byDefaultNoneIsAtAnAddressThatIsNotPublic(String host) {
        assertRefused(host);
        assertRefused(host, "*");
        assertRefused(host, "hooks.example.org", "*.example.org");
    }

    @Test
    void oneIsAtEachPublicAddressUnlessTheOperatorSaysWhere() {
        assertThat(resolved("hooks.example.org")).isEqualTo("93.184.216.34");
        assertThat(resolved("2606:4700::1111")).contains("2606:4700");
        assertThat(resolved("hooks.example.org", "*.example.org")).isEqualTo("93.184.216.34");
        assertThat(resolved("hooks.example.org", "Hooks.Example.Org")).isEqualTo("93.184.216.34");
        assertRefused("hooks.example.org", "example.org");
        assertRefused("hooks.example.org", "hooks.example.com");
        assertRefused("93.184.216.34", "hooks.example.org");
    }

    @Test
    void aNetworkThatIsNamedIsAllowedWhateverNameLeadsThere() {
        assertThat(resolved("inside.example.org", "10.0.0.0/8")).isEqualTo("10.1.2.3");
        assertThat(resolved("loop.example.org", "127.0.0.1")).isEqualTo("127.0.0.1");
        assertRefused("loop.example.org", "10.0.0.0/8");
        assertRefused("hooks.example.org", "10.0.0.0/8");
    }

    @Test
    void ofSeveralAddressesOneIsTakenThatIsAllowed() {
        assertThat(resolved("mixed.example.org")).isEqualTo("93.184.216.34");
    }

    /** The resolver would answer a second query differently. No second query is sent. */
    @Test
    void aNameIsResolvedOnce() {
        AtomicInteger asked = new AtomicInteger();
        Targets targets = new Targets(
                List.of(),
                host -> addresses(asked.getAndIncrement() == 0 ? "hooks.example.org" : "loop.example.org"),
                VERTX);
        assertThat(targets.resolve("rebinding.example.org")
                        .await()
                        .indefinitely()
                        .getHostAddress())
                .isEqualTo("93.184.216.34");
        assertThat(asked).hasValue(1);
    }
}
