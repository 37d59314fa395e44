package dev.annals.edges.delivery;

import java.util.HexFormat;

/** JSON on one line and in ASCII: a receiver need not guess its encoding or its end. */
final class AsciiJson {

    private static final HexFormat HEX = HexFormat.of();

    private AsciiJson() {}

    /** Outside of strings, JSON has no characters but ASCII, and its control characters are white space. */
    static String of(String json) {
        StringBuilder out = new StringBuilder(json.length() + 16);
        for (int i = 0; i < json.length(); i++) {
            char c = json.charAt(i);
            if (c < ' ') {
                out.append(' ');
            } else if (c < 0x7f) {
                out.append(c);
            } else {
                out.append("\\u").append(HEX.toHexDigits(c));
            }
        }
        return out.toString();
    }
}
