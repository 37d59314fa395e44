package dev.annals.writer;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Parses addresses as servers and proxies report them, without a name server. */
final class Address {

    private static final String BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
    private static final String V4 = BYTE + "(\\." + BYTE + "){3}";
    private static final Pattern IS_V4 = Pattern.compile(V4);
    private static final Pattern WITH_PORT = Pattern.compile("\\[(?<v6>[^\\]]*)\\](:[0-9]*)?|(?<v4>[0-9.]+):[0-9]*");
    private static final Pattern GROUPS =
            Pattern.compile("([0-9a-fA-F]{1,4}(:[0-9a-fA-F]{1,4})*(:" + V4 + ")?)?|" + V4);
    private static final int LONGEST = 100;

    private Address() {}

    /** Without brackets, port and zone; null if the text is no IPv4 or IPv6 address. */
    static String in(String text) {
        String address = text.strip();
        if (address.length() > LONGEST) {
            return null;
        }
        Matcher port = WITH_PORT.matcher(address);
        if (port.matches()) {
            address = port.group("v6") != null ? port.group("v6") : port.group("v4");
        }
        int zone = address.indexOf('%');
        if (zone >= 0 && address.indexOf(':') >= 0) {
            address = address.substring(0, zone);
        }
        return IS_V4.matcher(address).matches() || isV6(address) ? address : null;
    }

    private static boolean isV6(String text) {
        int gap = text.indexOf("::");
        if (gap < 0) {
            return groups(text) == 8;
        }
        String head = text.substring(0, gap);
        return head.indexOf('.') < 0 && groups(head) + groups(text.substring(gap + 2)) < 8;
    }

    /** The number of 16-bit groups; 9 if the text is malformed. */
    private static int groups(String text) {
        if (text.isEmpty() || !GROUPS.matcher(text).matches()) {
            return text.isEmpty() ? 0 : 9;
        }
        return text.split(":").length + (text.indexOf('.') < 0 ? 0 : 1);
    }
}
