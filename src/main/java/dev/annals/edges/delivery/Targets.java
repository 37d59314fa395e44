package dev.annals.edges.delivery;

import dev.annals.access.caller.AddressRange;
import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.NamedDatabase;
import io.netty.util.NetUtil;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.inject.Inject;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * Decides which hosts may be sinks. A name is resolved once, and the connection goes to one of the addresses that were checked. A name
 * server that answers a second query with another address (DNS rebinding) therefore gains nothing.
 */
@ApplicationScoped
class Targets {

    /** Addresses that are not public, or that embed such addresses: the registries of IANA, and multicast. */
    private static final List<AddressRange> SPECIAL = Stream.of(
                    "0.0.0.0/8",
                    "10.0.0.0/8",
                    "100.64.0.0/10",
                    "127.0.0.0/8",
                    "169.254.0.0/16",
                    "172.16.0.0/12",
                    "192.0.0.0/24",
                    "192.0.2.0/24",
                    "192.88.99.0/24",
                    "192.168.0.0/16",
                    "198.18.0.0/15",
                    "198.51.100.0/24",
                    "203.0.113.0/24",
                    "224.0.0.0/4",
                    "240.0.0.0/4",
                    "2001::/23",
                    "2001:db8::/32",
                    "2002::/16",
                    "3fff::/20")
            .map(range -> AddressRange.parse(range).orElseThrow())
            .toList();

    /** The IPv6 addresses of hosts; the others are loopback, local, multicast or translated IPv4 addresses. */
    private static final AddressRange GLOBAL_IPV6 =
            AddressRange.parse("2000::/3").orElseThrow();

    private final List<AddressRange> networks = new ArrayList<>();
    private final List<String> names = new ArrayList<>();
    private final boolean anyPublic;
    private final boolean onlyPublic;
    /** Ends the refusal. */
    private final String hint;

    private final Resolver resolver;
    private final Vertx vertx;

    /** May block. */
    @FunctionalInterface
    interface Resolver {
        InetAddress[] addresses(String host) throws UnknownHostException;
    }

    static final class RefusedTargetException extends RuntimeException {

        private static final long serialVersionUID = 1;

        RefusedTargetException(String message) {
            super(message, null, false, false);
        }
    }

    @Inject
    Targets(DeliveryConfig config, SinkLoops loops) {
        this(config.allowedHosts().orElse(List.of()), InetAddress::getAllByName, loops.vertx());
    }

    Targets(List<String> allowed, Resolver resolver, Vertx vertx) {
        this.onlyPublic = false;
        this.hint = "";
        this.resolver = resolver;
        this.vertx = vertx;
        this.anyPublic = allowed.isEmpty() || allowed.contains("*");
        for (String entry : allowed) {
            AddressRange.parse(entry).ifPresentOrElse(networks::add, () -> names.add(entry.toLowerCase(Locale.ROOT)));
        }
    }

    /** All addresses, for hosts that the operator names. Without TLS only this machine. */
    static Targets anywhere(Vertx vertx) {
        return new Targets(List.of("0.0.0.0/0", "::/0"), InetAddress::getAllByName, vertx);
    }

    private Targets(Targets targets, String hint) {
        this.onlyPublic = true;
        this.hint = hint;
        this.resolver = targets.resolver;
        this.vertx = targets.vertx;
        this.anyPublic = targets.anyPublic;
        this.names.addAll(targets.names);
        this.networks.addAll(targets.networks);
    }

    /** Without the private addresses that the settings name for the operator's own streams. */
    Targets onlyPublic() {
        return new Targets(this, "");
    }

    /** What streams of a database's rows may reach, which its owner may have written. */
    Targets of(Database database) {
        return database.trusted() ? this : new Targets(this, " " + untrusted(database));
    }

    static String untrusted(Database database) {
        return "Streams in the database " + database + " reach public addresses alone, without the service's own"
                + " identity, unless its operator sets " + NamedDatabase.variables(database.name()) + "TRUSTED.";
    }

    /**
     * Resolves a host to an allowed address.
     *
     * @param host a name, or an address without brackets
     * @return fails with {@link RefusedTargetException} if no address is allowed, with {@link UnknownHostException} if the host is unknown
     */
    Uni<InetAddress> resolve(String host) {
        return SinkLoops.blocking(vertx, () -> allowed(host));
    }

    /** A connection without encryption must stay on this machine. */
    Uni<InetAddress> resolve(String host, boolean isEncrypted) {
        return resolve(host).invoke(address -> {
            if (!isEncrypted && !address.isLoopbackAddress()) {
                throw new RefusedTargetException("Without TLS, sinks may only be on this machine.");
            }
        });
    }

    /** Blocks; otherwise as {@link #resolve(String)}. */
    InetAddress allowed(String host) throws UnknownHostException {
        for (InetAddress address : resolver.addresses(host)) {
            if (isAllowed(host, address)) {
                return address;
            }
        }
        throw refused(host);
    }

    /** All addresses must be allowed, because another library chooses one of them. Blocks. */
    void requireAllAllowed(String host) throws UnknownHostException {
        for (InetAddress address : resolver.addresses(host)) {
            if (!isAllowed(host, address)) {
                throw refused(host);
            }
        }
    }

    private RefusedTargetException refused(String host) {
        return new RefusedTargetException("No sink may be at " + host
                + ": its addresses are private, special, or not among ANNALS_STREAMS_ALLOWED_HOSTS." + hint);
    }

    private boolean isAllowed(String host, InetAddress address) {
        return isNamed(address) || (isPublic(address) && (anyPublic || isNamed(host)));
    }

    /** Whether the settings name the address, or a network that contains it. */
    boolean isNamed(InetAddress address) {
        String text = NetUtil.toAddressString(address);
        return (!onlyPublic || isPublic(address)) && networks.stream().anyMatch(network -> network.contains(text));
    }

    private boolean isNamed(String host) {
        String wanted = host.toLowerCase(Locale.ROOT);
        return names.stream()
                .anyMatch(name -> name.equals(wanted) || (name.startsWith("*.") && wanted.endsWith(name.substring(1))));
    }

    static boolean isPublic(InetAddress address) {
        String text = NetUtil.toAddressString(address);
        return (address.getAddress().length == 4 || GLOBAL_IPV6.contains(text))
                && SPECIAL.stream().noneMatch(range -> range.contains(text));
    }
}
