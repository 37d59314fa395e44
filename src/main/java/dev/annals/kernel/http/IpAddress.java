package dev.annals.kernel.http;

import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads IP addresses without ever asking a name server. */
public final class IpAddress {

    private static final String OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
    private static final String V4 = OCTET + "(\\." + OCTET + "){3}";
    /** Stricter than the JDK. The first colon, or digit of a group, makes the JDK read a literal rather than look up a name. */
    private static final Pattern ADDRESS =
            Pattern.compile(V4 + "|([0-9A-Fa-f]{0,4}:){2,8}([0-9A-Fa-f]{0,4}|" + V4 + ")");

    /** How PostgreSQL sends an {@code inet}: the family, the length of the prefix, a flag, how many bytes follow, and these. */
    private static final int SENT_LENGTH = 3;

    private static final int SENT_HEADER = 4;
    private static final int V4_BYTES = 4;
    private static final int V6_BYTES = 16;
    private static final int MAPPED_BITS = 96;
    private static final Pattern LENGTH = Pattern.compile("0|[1-9][0-9]{0,2}");

    private IpAddress() {}

    /**
     * The text that PostgreSQL's {@code host()} gives, made from the bytes of {@code inet_send()}, which cost the database much
     * less.
     *
     * @throws IllegalArgumentException if it is not that
     */
    public static String ofSent(byte[] sent) {
        int length = sent.length < SENT_HEADER ? -1 : sent[SENT_LENGTH];
        if (sent.length != SENT_HEADER + length || (length != V4_BYTES && length != V6_BYTES)) {
            throw new IllegalArgumentException("not an inet as PostgreSQL sends it");
        }
        return format(Arrays.copyOfRange(sent, SENT_HEADER, sent.length));
    }

    /**
     * The one form in which an address is stored and compared: the text that PostgreSQL gives an {@code inet} of one host (as
     * RFC 5952 has it, with the last 32 bits dotted if an IPv4 address is embedded), and for an IPv4 address that is mapped to
     * IPv6, the IPv4 address. Null if {@code text} is not an IPv4 or IPv6 address. Zones, prefixes, brackets, and leading zeros
     * in IPv4 are not accepted.
     */
    public static @Nullable String canonical(String text) {
        // Most addresses: a twentieth of the time of what follows.
        if (NetUtil.isValidIpV4Address(text) && !hasLeadingZero(text)) {
            return text;
        }
        byte[] address = parse(text);
        return address == null ? null : format(address);
    }

    /**
     * How many of the first bits of {@link #parse}'s bytes a network's addresses have in common; -1 if {@code length} is no
     * decimal prefix length for this address. Of an IPv4 address that is mapped to IPv6, the 96 bits of the mapping are part of
     * {@code length} and not of the result.
     *
     * @param address an address that {@link #parse} accepts
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

    /**
     * The address as 4 or 16 bytes; null if {@link #canonical} does not accept it. An IPv4 address that is mapped to IPv6 has
     * 4 bytes.
     */
    public static byte @Nullable [] parse(String text) {
        InetAddress address = address(text);
        return address == null ? null : address.getAddress();
    }

    /** The address that {@link #parse} reads. */
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

    /** The text of an address of 4 or 16 bytes. */
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
