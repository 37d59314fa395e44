package dev.annals.hostile;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.zip.GZIPOutputStream;

/** Small bodies that unpack to very large ones. */
final class Bombs {

    private static final int MEMBER_BYTES = 16 << 20;

    private Bombs() {}

    /** A gzip body of so many members, each of 16 KiB that unpack to 16 MiB of white space. */
    static byte[] gzip(int members) {
        ByteArrayOutputStream one = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(one)) {
            byte[] spaces = " ".repeat(1 << 16).getBytes(StandardCharsets.US_ASCII);
            for (int written = 0; written < MEMBER_BYTES; written += spaces.length) {
                gzip.write(spaces);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (int i = 0; i < members; i++) {
            all.writeBytes(one.toByteArray());
        }
        return all.toByteArray();
    }

    /**
     * A brotli body (RFC 7932) of 3 KB that unpacks to 4 GiB: each meta-block is one literal, and one copy of it of 16 MiB
     * less one byte.
     */
    static byte[] brotli() {
        Bits bits = new Bits();
        bits.put(0, 1); // a window of 64 KiB
        for (int i = 0; i < 256; i++) {
            bits.put(0, 1); // not the last
            bits.put(2, 2);
            bits.put((1 << 24) - 1, 24); // length, less one
            bits.put(0, 1); // compressed
            bits.put(0, 3); // one block type of each kind
            bits.put(0, 6); // no postfix, no direct distances
            bits.put(0, 2); // context mode
            bits.put(0, 2); // one tree each for literals and distances
            onlySymbol(bits, ' ', 8);
            onlySymbol(bits, 399, 10); // insert 1, copy 2118 and 24 bits more
            onlySymbol(bits, 16, 6); // distance 1, and one bit more
            bits.put((1 << 24) - 1 - 2118, 24);
            bits.put(0, 1);
        }
        bits.put(3, 2); // the last, and empty
        return bits.toByteArray();
    }

    private static void onlySymbol(Bits bits, int symbol, int width) {
        bits.put(1, 2); // a simple code
        bits.put(0, 2); // of one symbol
        bits.put(symbol, width);
    }

    /** Bits as brotli packs them, the lowest first. */
    private static final class Bits {

        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private int open;
        private int used;

        void put(int value, int width) {
            for (int i = 0; i < width; i++) {
                open |= (value >> i & 1) << used++;
                if (used == 8) {
                    bytes.write(open);
                    open = 0;
                    used = 0;
                }
            }
        }

        byte[] toByteArray() {
            if (used > 0) {
                put(0, 8 - used);
            }
            return bytes.toByteArray();
        }
    }
}
