package dev.annals.edges.intake;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Makes OTLP requests as protobuf, right or wrong. */
final class OtlpWire {

    private OtlpWire() {}

    static byte[] request(byte[]... logRecords) {
        return field(1, field(2, fields(2, logRecords)));
    }

    /** The same with a resource that has one attribute. */
    static byte[] request(String resource, byte[]... logRecords) {
        return field(1, join(field(1, attribute(1, "service.name", resource)), field(2, fields(2, logRecords))));
    }

    /** A log record with a time and these attributes: names and texts. */
    static byte[] log(long nanos, String... attributes) {
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        log.writeBytes(fixed64(1, nanos));
        for (int i = 0; i < attributes.length; i += 2) {
            log.writeBytes(attribute(6, attributes[i], attributes[i + 1]));
        }
        return log.toByteArray();
    }

    static byte[] attribute(int field, String name, String text) {
        return attribute(field, name, field(1, text.getBytes(StandardCharsets.UTF_8)));
    }

    /** An attribute with an AnyValue. */
    static byte[] attribute(int field, String name, byte[] value) {
        return field(field, join(field(1, name.getBytes(StandardCharsets.UTF_8)), field(2, value)));
    }

    static byte[] field(int number, byte[] value) {
        return join(varint(number << 3 | 2), varint(value.length), value);
    }

    static byte[] number(int number, long value) {
        return join(varint(number << 3), varint(value));
    }

    static byte[] fixed64(int number, long value) {
        return join(
                varint(number << 3 | 1),
                ByteBuffer.allocate(8)
                        .order(ByteOrder.LITTLE_ENDIAN)
                        .putLong(value)
                        .array());
    }

    private static byte[] fields(int number, byte[]... values) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] value : values) {
            all.writeBytes(field(number, value));
        }
        return all.toByteArray();
    }

    static byte[] varint(long value) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        long rest = value;
        while (rest >>> 7 != 0) {
            bytes.write((int) (rest & 0x7F) | 0x80);
            rest >>>= 7;
        }
        bytes.write((int) rest);
        return bytes.toByteArray();
    }

    static byte[] join(byte[]... parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            all.writeBytes(part);
        }
        return all.toByteArray();
    }
}
