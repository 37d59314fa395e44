package dev.annals.edges.intake;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * Reads the fields of one protobuf message, in place and without recursion. A nested message has a reader of its own, which cannot leave
 * the bytes of that message. A getter takes the value of the current field, or the next {@link #next} skips it.
 *
 * <p>Every method throws {@link Malformed} if the bytes are no protobuf or the field has another type.
 */
final class ProtobufReader {

    static final int VARINT = 0;
    static final int FIXED64 = 1;
    static final int BYTES = 2;
    static final int FIXED32 = 5;

    private static final int MAX_VARINT_BYTES = 10;

    private final byte[] bytes;
    private final int from;
    private final int end;
    private int at;
    private int field;
    private int type;
    private boolean pending;

    static final class Malformed extends RuntimeException {
        private static final long serialVersionUID = 1;

        Malformed(String message) {
            super(message, null, false, false);
        }
    }

    /** Reads from {@code from} to before {@code end}. */
    ProtobufReader(byte[] bytes, int from, int end) {
        this.bytes = bytes;
        this.from = from;
        this.end = end;
        this.at = from;
    }

    int from() {
        return from;
    }

    int end() {
        return end;
    }

    /** Returns false at the end. */
    boolean next() {
        if (pending) {
            skip();
        }
        if (at == end) {
            return false;
        }
        long tag = readVarint();
        if (tag >>> 3 == 0 || tag >>> 3 > 0x1FFF_FFFF) {
            throw new Malformed("a field has no valid number");
        }
        field = (int) (tag >>> 3);
        type = (int) (tag & 7);
        pending = true;
        return true;
    }

    int field() {
        return field;
    }

    long varint() {
        take(VARINT);
        return readVarint();
    }

    long fixed64() {
        take(FIXED64);
        return ByteBuffer.wrap(bytes, advance(8), 8)
                .order(ByteOrder.LITTLE_ENDIAN)
                .getLong();
    }

    ProtobufReader message() {
        take(BYTES);
        int length = length();
        int start = advance(length);
        return new ProtobufReader(bytes, start, start + length);
    }

    ByteBuffer bytes() {
        ProtobufReader value = message();
        return ByteBuffer.wrap(bytes, value.from, value.end - value.from);
    }

    /** Null if it is not UTF-8. */
    @Nullable
    String text() {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(bytes()).toString();
        } catch (CharacterCodingException e) {
            return null;
        }
    }

    private void take(int expected) {
        if (type != expected) {
            throw new Malformed("field " + field + " has wire type " + type + " in place of " + expected);
        }
        pending = false;
    }

    private void skip() {
        pending = false;
        switch (type) {
            case VARINT -> readVarint();
            case FIXED64 -> advance(8);
            case BYTES -> advance(length());
            case FIXED32 -> advance(4);
            default -> throw new Malformed("field " + field + " has wire type " + type);
        }
    }

    private int length() {
        long length = readVarint();
        if (length < 0 || length > end - at) {
            throw new Malformed("field " + field + " is longer than its message");
        }
        return (int) length;
    }

    private int advance(int length) {
        if (length > end - at) {
            throw new Malformed("field " + field + " is longer than its message");
        }
        int start = at;
        at += length;
        return start;
    }

    private long readVarint() {
        long value = 0;
        for (int i = 0; i < MAX_VARINT_BYTES; i++) {
            byte next = bytes[advance(1)];
            value |= (long) (next & 0x7F) << (7 * i);
            if (next >= 0) {
                return value;
            }
        }
        throw new Malformed("a number has more than " + MAX_VARINT_BYTES + " bytes");
    }
}
