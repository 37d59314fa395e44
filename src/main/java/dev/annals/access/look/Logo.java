package dev.annals.access.look;

import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * Tells PNG, JPEG and WebP by their first bytes, and reads their size, because a small file may unpack to a huge picture. SVG is a
 * document with scripts and links, so it is no logo.
 */
final class Logo {

    /** In base64 it fits into the body of a command. */
    static final int MAX_BYTES = 32_768;

    private static final int MAX_SIDE = 1_024;
    private static final byte[] PNG = {(byte) 0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    private static final int PNG_HEADER = 24;
    private static final int WEBP_HEADER = 30;

    private record Size(int width, int height) {}

    private Logo() {}

    /** The reason why these bytes are no logo; null if they are. */
    static @Nullable String problem(byte[] image) {
        if (image.length > MAX_BYTES) {
            return "It has " + image.length + " bytes and may have " + MAX_BYTES + ".";
        }
        Size size = size(image);
        if (size == null) {
            return "It must be a PNG, JPEG or WebP image.";
        }
        return size.width < 1 || size.height < 1 || size.width > MAX_SIDE || size.height > MAX_SIDE
                ? "It may have " + MAX_SIDE + " pixels in width and height."
                : null;
    }

    /** Null if the format is another one. */
    private static @Nullable Size size(byte[] image) {
        if (image.length >= PNG_HEADER && starts(image, 0, PNG) && starts(image, 12, ascii("IHDR"))) {
            return new Size(big(image, 16, 4), big(image, 20, 4));
        } else if (image.length >= 4 && big(image, 0, 2) == 0xFFD8) {
            return jpeg(image);
        } else if (image.length >= WEBP_HEADER && starts(image, 0, ascii("RIFF")) && starts(image, 8, ascii("WEBP"))) {
            return webp(image);
        }
        return null;
    }

    /** ITU T.81, annex B: segments up to the frame header. */
    private static @Nullable Size jpeg(byte[] image) {
        int at = 2;
        while (at + 9 <= image.length && (image[at] & 0xFF) == 0xFF) {
            int marker = image[at + 1] & 0xFF;
            boolean isFrame = marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
            if (isFrame) {
                return new Size(big(image, at + 7, 2), big(image, at + 5, 2));
            }
            at += 2 + big(image, at + 2, 2);
        }
        return null;
    }

    /** RFC 9649, section 2. */
    private static @Nullable Size webp(byte[] image) {
        if (starts(image, 12, ascii("VP8X"))) {
            return new Size(1 + little(image, 24, 3), 1 + little(image, 27, 3));
        } else if (starts(image, 12, ascii("VP8L")) && image[20] == 0x2F) {
            int bits = little(image, 21, 4);
            return new Size(1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF));
        } else if (starts(image, 12, ascii("VP8 ")) && big(image, 23, 3) == 0x9D012A) {
            return new Size(little(image, 26, 2) & 0x3FFF, little(image, 28, 2) & 0x3FFF);
        }
        return null;
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    private static boolean starts(byte[] image, int at, byte[] with) {
        for (int i = 0; i < with.length; i++) {
            if (image[at + i] != with[i]) {
                return false;
            }
        }
        return true;
    }

    private static int big(byte[] image, int at, int bytes) {
        int value = 0;
        for (int i = 0; i < bytes; i++) {
            value = value << 8 | (image[at + i] & 0xFF);
        }
        return value;
    }

    private static int little(byte[] image, int at, int bytes) {
        int value = 0;
        for (int i = bytes - 1; i >= 0; i--) {
            value = value << 8 | (image[at + i] & 0xFF);
        }
        return value;
    }
}
