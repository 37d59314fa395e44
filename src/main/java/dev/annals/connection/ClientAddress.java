package dev.annals.connection;

import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.util.HexFormat;

/** Whom an address stands for: an IPv4 address, or the first 64 bits of an IPv6 address, which belong to one network. */
public final class ClientAddress {

    private static final int MAX_TEXT = 64;
    private static final int NETWORK_BYTES = 8;

    private ClientAddress() {}

    /** Whom the address stands for. */
    public static String of(InetAddress address) {
        return of(address.getAddress());
    }

    /** Whom the address stands for. Proxies may send text that is not an address; then it is the text itself, cut short. */
    public static String of(String text) {
        byte[] bytes = NetUtil.createByteArrayFromIpAddressString(text);
        if (bytes == null) {
            return text.substring(0, Math.min(MAX_TEXT, text.length()));
        }
        return of(bytes);
    }

    private static String of(byte[] bytes) {
        int from = isMappedV4(bytes) ? bytes.length - 4 : 0;
        return HexFormat.of().formatHex(bytes, from, from == 0 ? Math.min(bytes.length, NETWORK_BYTES) : bytes.length);
    }

    private static boolean isMappedV4(byte[] bytes) {
        if (bytes.length != 16 || bytes[10] != -1 || bytes[11] != -1) {
            return false;
        }
        for (int i = 0; i < 10; i++) {
            if (bytes[i] != 0) {
                return false;
            }
        }
        return true;
    }
}
