package dev.annals.kernel.connection;

import dev.annals.kernel.http.IpAddress;
import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.util.HexFormat;
import java.util.Objects;

/** Identifies a client: by an IPv4 address, or the first 64 bits of an IPv6 address, which belong to one network. */
public final class ClientAddress {

    private static final int NETWORK_BYTES = 8;

    private ClientAddress() {}

    public static String of(InetAddress address) {
        return of(NetUtil.toAddressString(address));
    }

    /**
     * The client of an address that {@link TrustedProxies#client} returned.
     *
     * @param text from {@link TrustedProxies#client}
     */
    public static String of(String text) {
        byte[] bytes = Objects.requireNonNull(IpAddress.parse(text), "not an address");
        return HexFormat.of().formatHex(bytes, 0, Math.min(bytes.length, NETWORK_BYTES));
    }
}
