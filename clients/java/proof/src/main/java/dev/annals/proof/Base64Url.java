package dev.annals.proof;

import java.util.Base64;

/** RFC 4648, section 5, without padding, and strict: each value has one text. */
public final class Base64Url {

    private Base64Url() {}

    /** The text of these bytes. */
    public static String of(byte[] bytes) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    /**
     * Reads a text.
     *
     * @throws IllegalArgumentException if it is not the one text of so many bytes
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
