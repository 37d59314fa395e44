package dev.annals.proof;

import java.util.Base64;

/** Base64url without padding, RFC 4648, section 5. Each value has exactly one text. */
public final class Base64Url {

    private Base64Url() {}

    public static String of(byte[] bytes) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    /**
     * Reads a text.
     *
     * @throws IllegalArgumentException if it is not the text of {@code expectedBytes} bytes
     */
    public static byte[] parse(String text, int expectedBytes) {
        byte[] bytes = Base64.getUrlDecoder().decode(text);
        if (bytes.length != expectedBytes || !of(bytes).equals(text)) {
            throw new IllegalArgumentException(
                    "\"" + text + "\" is not base64url of " + expectedBytes + " bytes without padding");
        }
        return bytes;
    }
}
