package dev.annals.core.record;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * Checks bytes before they are parsed. Jackson accepts overlong forms and encoded surrogates as characters; the Unicode
 * Standard (table 3-7, well-formed UTF-8 byte sequences) does not, and neither does PostgreSQL.
 */
public final class Utf8 {

    /** Well-formed, and without a backslash: no JSON string in it can hold an escape. */
    static final int PLAIN = -1;
    /** Well-formed, with a backslash somewhere. */
    static final int WITH_BACKSLASH = -2;

    private static final VarHandle EIGHT_BYTES =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long EACH_BYTE = 0x0101_0101_0101_0101L;
    private static final long HIGH_BITS = EACH_BYTE << 7;
    private static final long BACKSLASHES = EACH_BYTE * '\\';

    private Utf8() {}

    /**
     * Checks the bytes from {@code from} to before {@code to}.
     *
     * @return {@link #PLAIN}, {@link #WITH_BACKSLASH}, or the index of the first byte of a sequence that is not UTF-8
     */
    public static int scan(byte[] bytes, int from, int to) {
        int result = PLAIN;
        int at = from;
        while (at < to) {
            if (to - at >= Long.BYTES) {
                long eight = (long) EIGHT_BYTES.get(bytes, at);
                if ((eight & HIGH_BITS) == 0) {
                    long zeroWhereBackslash = eight ^ BACKSLASHES;
                    if (((zeroWhereBackslash - EACH_BYTE) & ~zeroWhereBackslash & HIGH_BITS) != 0) {
                        result = WITH_BACKSLASH;
                    }
                    at += Long.BYTES;
                    continue;
                }
            }
            byte first = bytes[at];
            if (first == '\\') {
                result = WITH_BACKSLASH;
            }
            int length = first >= 0 ? 1 : sequenceLength(bytes, at, to);
            if (length == 0) {
                return at;
            }
            at += length;
        }
        return result;
    }

    /** The length of the sequence of more than one byte at {@code at}; 0 if it is malformed or cut off. */
    private static int sequenceLength(byte[] bytes, int at, int to) {
        int first = bytes[at] & 0xFF;
        int length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
        if (length == 0 || to - at < length) {
            return 0;
        }
        int second = bytes[at + 1] & 0xFF;
        int lowest = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
        int highest = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
        if (second < lowest || second > highest) {
            return 0;
        }
        for (int i = 2; i < length; i++) {
            if ((bytes[at + i] & 0xC0) != 0x80) {
                return 0;
            }
        }
        return length;
    }
}
