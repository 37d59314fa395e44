package dev.annals.kernel.http;

import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads IP addresses and never asks a name server. */
public final class IpAddress {

    private static final String OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
    private static final String V4 = OCTET + "(\\." + OCTET + "){3}";
    /** Texts for which the JDK asks no name server. */
    private static final Pattern ADDRESS =
            Pattern.compile(V4 + "|([0-9A-Fa-f]{0,4}:){2,8}([0-9A-Fa-f]{0,4}|" + V4 + ")");

    /** PostgreSQL sends an {@code inet} as family, prefix length, a flag, the number of bytes, and the bytes. */
    private static final int SENT_LENGTH = 3;

    private static final int SENT_HEADER = 4;
    private static final int V4_BYTES = 4;
    private static final int V6_BYTES = 16;
    private static final int MAPPED_BITS = 96;
    private static final Pattern LENGTH = Pattern.compile("0|[1-9][0-9]{0,2}");

    private IpAddress() {}

    /**
     * The text of PostgreSQL's {@code host()} from the bytes of {@code inet_send()}, which cost the database much less.
     *
     * @throws IllegalArgumentException if the bytes are no address
     */
    public static String ofSent(byte[] sent) {
        int length = sent.length < SENT_HEADER ? -1 : sent[SENT_LENGTH];
        if (sent.length != SENT_HEADER + length || (length != V4_BYTES && length != V6_BYTES)) {
            throw new IllegalArgumentException("not an inet as PostgreSQL sends it");
        }
        return format(Arrays.copyOfRange(sent, SENT_HEADER, sent.length));
    }

    /**
     * The form in which addresses are stored and compared: PostgreSQL's text of an {@code inet} (RFC 5952; embedded IPv4 is
     * dotted), with mapped IPv4 as IPv4. Null for other text, as with zones, prefixes, brackets, or leading zeros in IPv4.
     */
    public static @Nullable String canonical(String text) {
        // Most addresses are IPv4; this takes a twentieth of the time of the rest.
        if (NetUtil.isValidIpV4Address(text) && !hasLeadingZero(text)) {
            return text;
        }
        byte[] address = parse(text);
        return address == null ? null : format(address);
    }

    /**
     * The prefix length in bits of {@link #parse}'s bytes; -1 if invalid. For mapped IPv4, {@code length} includes the 96 bits
     * of the mapping, and the result does not.
     */
    public static int prefixBits(String address, String length) {
        if (!LENGTH.matcher(length).matches()) {
            return -1;
        }
        int bits = Integer.parseInt(length);
        boolean isV6 = address.indexOf(':') >= 0;
        if (bits > (isV6 ? V6_BYTES : V4_BYTES) * Byte.SIZE) {
            return -1;
        }
        byte[] bytes = parse(address);
        boolean isMapped = isV6 && bytes != null && bytes.length == V4_BYTES;
        return isMapped ? Math.max(-1, bits - MAPPED_BITS) : bits;
    }

    /** The address as 4 or 16 bytes (4 for mapped IPv4); null if {@link #canonical} does not accept it. */
    public static byte @Nullable [] parse(String text) {
        InetAddress address = address(text);
        return address == null ? null : address.getAddress();
    }

    public static @Nullable InetAddress address(String text) {
        try {
            return ADDRESS.matcher(text).matches() ? InetAddress.getByName(text) : null;
        } catch (UnknownHostException e) {
            return null;
        }
    }

    private static boolean hasLeadingZero(String v4) {
        for (int i = 0; i < v4.length() - 1; i++) {
            boolean begins = i == 0 || v4.charAt(i - 1) == '.';
            if (begins && v4.charAt(i) == '0' && v4.charAt(i + 1) != '.') {
                return true;
            }
        }
        return false;
    }

    public static String format(byte[] address) {
        int zeros = 0;
        while (zeros < address.length && address[zeros] == 0) {
            zeros++;
        }
        boolean mapped = zeros == 10 && address[10] == -1 && address[11] == -1;
        if (address.length == V6_BYTES && (mapped || zeros == 12 || zeros == 13)) {
            return (mapped ? "::ffff:" : "::") + NetUtil.bytesToIpAddress(address, 12, V4_BYTES);
        }
        return NetUtil.bytesToIpAddress(address);
    }
}
