package dev.annals.record;

import org.jspecify.annotations.Nullable;

/** Reads IP addresses without ever asking a name server. */
public final class IpAddress {

    private static final int GROUPS = 8;
    private static final int LONGEST_V4 = "255.255.255.255".length();
    private static final int LONGEST = "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255".length();

    /** How PostgreSQL sends an {@code inet}: the family, the length of the prefix, a flag, how many bytes follow, and these. */
    private static final int SENT_LENGTH = 3;

    private static final int SENT_HEADER = 4;
    private static final int V4_BYTES = 4;

    private IpAddress() {}

    /**
     * The text that PostgreSQL's {@code host()} gives, made from the bytes of {@code inet_send()}, which cost the database much
     * less.
     *
     * @throws IllegalArgumentException if it is not that
     */
    public static String ofSent(byte[] sent) {
        int length = sent.length < SENT_HEADER ? -1 : sent[SENT_LENGTH];
        if (sent.length != SENT_HEADER + length || (length != V4_BYTES && length != 2 * GROUPS)) {
            throw new IllegalArgumentException("not an inet as PostgreSQL sends it");
        }
        if (length == V4_BYTES) {
            StringBuilder text = new StringBuilder(LONGEST_V4);
            for (int at = SENT_HEADER; at < sent.length; at++) {
                text.append(at == SENT_HEADER ? "" : ".").append(sent[at] & 0xFF);
            }
            return text.toString();
        }
        int[] groups = new int[GROUPS];
        for (int i = 0; i < GROUPS; i++) {
            groups[i] = (sent[SENT_HEADER + 2 * i] & 0xFF) << 8 | (sent[SENT_HEADER + 2 * i + 1] & 0xFF);
        }
        return format(groups);
    }

    /**
     * The address in the text form that PostgreSQL gives an {@code inet} of one host (as RFC 5952 has it, with the last
     * 32 bits dotted if an IPv4 address is embedded); null if {@code text} is not an IPv4 or IPv6 address. Zones, prefixes,
     * brackets, and leading zeros in IPv4 are not accepted.
     */
    public static @Nullable String canonical(String text) {
        if (text.length() > LONGEST) {
            return null;
        }
        if (text.indexOf(':') < 0) {
            return parseV4(text) < 0 ? null : text;
        }
        int[] groups = parseV6(text);
        return groups == null ? null : format(groups);
    }

    /** The address as a number of 32 bits; -1 if {@code text} is not one. */
    private static long parseV4(String text) {
        long address = 0;
        int parts = 0;
        int at = 0;
        while (true) {
            int start = at;
            int part = 0;
            while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9' && at - start < 3) {
                part = part * 10 + text.charAt(at) - '0';
                at++;
            }
            boolean leadingZero = at - start > 1 && text.charAt(start) == '0';
            if (at == start || part > 255 || leadingZero) {
                return -1;
            }
            address = address << 8 | part;
            parts++;
            if (parts == 4) {
                return at == text.length() ? address : -1;
            }
            if (at == text.length() || text.charAt(at) != '.') {
                return -1;
            }
            at++;
        }
    }

    private static int @Nullable [] parseV6(String text) {
        int gap = text.indexOf("::");
        if (gap < 0) {
            int[] groups = new int[GROUPS];
            return parseGroups(text, groups) == GROUPS ? groups : null;
        }
        int[] before = new int[GROUPS];
        int[] after = new int[GROUPS];
        String head = text.substring(0, gap);
        String tail = text.substring(gap + 2);
        int beforeCount = head.isEmpty() ? 0 : head.indexOf('.') >= 0 ? -1 : parseGroups(head, before);
        int afterCount = tail.isEmpty() ? 0 : parseGroups(tail, after);
        if (beforeCount < 0 || afterCount < 0 || beforeCount + afterCount >= GROUPS) {
            return null;
        }
        System.arraycopy(after, 0, before, GROUPS - afterCount, afterCount);
        return before;
    }

    /** Fills {@code groups} from the left; returns how many there are, -1 if {@code text} is malformed. */
    private static int parseGroups(String text, int[] groups) {
        String[] parts = text.split(":", -1);
        int count = 0;
        for (int i = 0; i < parts.length; i++) {
            boolean dotted = parts[i].indexOf('.') >= 0;
            if ((dotted && i < parts.length - 1) || count + (dotted ? 2 : 1) > GROUPS) {
                return -1;
            }
            if (dotted) {
                long address = parseV4(parts[i]);
                if (address < 0) {
                    return -1;
                }
                groups[count++] = (int) (address >>> 16);
                groups[count++] = (int) (address & 0xFFFF);
            } else {
                int group = parseGroup(parts[i]);
                if (group < 0) {
                    return -1;
                }
                groups[count++] = group;
            }
        }
        return count;
    }

    private static int parseGroup(String hex) {
        if (hex.isEmpty() || hex.length() > 4) {
            return -1;
        }
        int group = 0;
        for (int i = 0; i < hex.length(); i++) {
            char c = hex.charAt(i);
            int digit = c < 128 ? Character.digit(c, 16) : -1;
            if (digit < 0) {
                return -1;
            }
            group = group << 4 | digit;
        }
        return group;
    }

    private static String format(int[] groups) {
        int gap = -1;
        int gapLength = 1;
        for (int start = 0; start < GROUPS; start++) {
            int end = start;
            while (end < GROUPS && groups[end] == 0) {
                end++;
            }
            if (end - start > gapLength) {
                gap = start;
                gapLength = end - start;
            }
            start = end;
        }
        boolean embedsV4 = gap == 0 && (gapLength == 6 || (gapLength == 5 && groups[5] == 0xFFFF));
        int hexGroups = embedsV4 ? 6 : GROUPS;
        StringBuilder text = new StringBuilder(LONGEST);
        for (int i = 0; i < hexGroups; i++) {
            if (i == gap) {
                text.append("::");
                i += gapLength - 1;
                continue;
            }
            separate(text);
            text.append(Integer.toHexString(groups[i]));
        }
        if (embedsV4) {
            separate(text);
            text.append(groups[6] >> 8).append('.').append(groups[6] & 0xFF).append('.');
            text.append(groups[7] >> 8).append('.').append(groups[7] & 0xFF);
        }
        return text.toString();
    }

    private static void separate(StringBuilder text) {
        if (text.length() > 0 && text.charAt(text.length() - 1) != ':') {
            text.append(':');
        }
    }
}
