package dev.annals.project;

import io.netty.util.NetUtil;
import java.util.Optional;

/**
 * A network such as {@code 192.0.2.0/24} or {@code 2001:db8::/32}.
 *
 * @param network its first address: 4 bytes, or 16
 * @param prefix how many bits its addresses have in common
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
public record AddressRange(byte[] network, int prefix) {

    /** Reads one as PostgreSQL's {@code cidr} has it; a single address is a network of its own. */
    public static Optional<AddressRange> parse(String text) {
        int slash = text.indexOf('/');
        byte[] network = bytes(slash < 0 ? text : text.substring(0, slash));
        if (network.length == 0) {
            return Optional.empty();
        }
        String length = slash < 0 ? Integer.toString(network.length * 8) : text.substring(slash + 1);
        if (!length.matches("[0-9]{1,3}") || Integer.parseInt(length) > network.length * 8) {
            return Optional.empty();
        }
        AddressRange range = new AddressRange(network, Integer.parseInt(length));
        for (int bit = range.prefix; bit < network.length * 8; bit++) {
            if (bit(network, bit)) {
                return Optional.empty();
            }
        }
        return Optional.of(range);
    }

    /** Whether an address belongs to it. */
    public boolean contains(String address) {
        byte[] bytes = bytes(address);
        if (bytes.length != network.length) {
            return false;
        }
        for (int bit = 0; bit < prefix; bit++) {
            if (bit(bytes, bit) != bit(network, bit)) {
                return false;
            }
        }
        return true;
    }

    /** An IPv4 address stays one in the clothes of an IPv6 address. */
    private static byte[] bytes(String address) {
        byte[] bytes = NetUtil.createByteArrayFromIpAddressString(address);
        if (bytes == null || address.indexOf('%') >= 0) {
            return new byte[0];
        }
        if (bytes.length == 16 && isMapped(bytes)) {
            return new byte[] {bytes[12], bytes[13], bytes[14], bytes[15]};
        }
        return bytes;
    }

    private static boolean isMapped(byte[] bytes) {
        for (int i = 0; i < 10; i++) {
            if (bytes[i] != 0) {
                return false;
            }
        }
        return bytes[10] == -1 && bytes[11] == -1;
    }

    private static boolean bit(byte[] bytes, int bit) {
        return (bytes[bit / 8] >> (7 - bit % 8) & 1) == 1;
    }
}
