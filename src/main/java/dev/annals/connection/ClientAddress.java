package dev.annals.connection;

import dev.annals.http.IpAddress;
import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.util.HexFormat;
import java.util.regex.Pattern;

/** Whom an address stands for: an IPv4 address, or the first 64 bits of an IPv6 address, which belong to one network. */
public final class ClientAddress {

    private static final int MAX_TEXT = 64;
    private static final int NETWORK_BYTES = 8;
    /** A proxy may write these around an IPv6 address. */
    private static final Pattern BRACKETS_AND_ZONE = Pattern.compile("^\\[|(%.*)?]$|%.*");

    private ClientAddress() {}

    /** Whom the address stands for. */
    public static String of(InetAddress address) {
        return of(NetUtil.toAddressString(address));
    }

    /** Whom the address stands for. Proxies may send text that is not an address; then it is the text itself, cut short. */
    public static String of(String text) {
        byte[] bytes = IpAddress.parse(BRACKETS_AND_ZONE.matcher(text).replaceAll(""));
        return bytes == null
                ? text.substring(0, Math.min(MAX_TEXT, text.length()))
                : HexFormat.of().formatHex(bytes, 0, Math.min(bytes.length, NETWORK_BYTES));
    }
}
