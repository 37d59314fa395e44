package dev.annals.access.caller;

import dev.annals.kernel.http.IpAddress;
import java.util.Optional;

/**
 * A network such as {@code 192.0.2.0/24} or {@code 2001:db8::/32}.
 *
 * @param network its first address: 4 bytes, or 16
 * @param prefix in bits
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
public record AddressRange(byte[] network, int prefix) {

    /** Parses PostgreSQL's {@code cidr}. A single address is a network, and mapped IPv4 is IPv4. */
    public static Optional<AddressRange> parse(String text) {
        int slash = text.indexOf('/');
        byte[] network = bytes(slash < 0 ? text : text.substring(0, slash));
        if (network.length == 0) {
            return Optional.empty();
        }
        int prefix = slash < 0
                ? network.length * 8
                : IpAddress.prefixBits(text.substring(0, slash), text.substring(slash + 1));
        if (prefix < 0) {
            return Optional.empty();
        }
        AddressRange range = new AddressRange(network, prefix);
        for (int bit = range.prefix; bit < network.length * 8; bit++) {
            if (bit(network, bit)) {
                return Optional.empty();
            }
        }
        return Optional.of(range);
    }

    /** In the form of PostgreSQL's {@code cidr}. */
    public String text() {
        return IpAddress.format(network) + "/" + prefix;
    }

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

    private static byte[] bytes(String address) {
        byte[] bytes = IpAddress.parse(address);
        return bytes == null ? new byte[0] : bytes;
    }

    private static boolean bit(byte[] bytes, int bit) {
        return (bytes[bit / 8] >> (7 - bit % 8) & 1) == 1;
    }
}
