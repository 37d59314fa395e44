package dev.annals.record;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;

/** JSON written straight into memory: the bodies of answers. */
public final class RecordJson {

    private RecordJson() {}

    /** What goes into a body. */
    @FunctionalInterface
    public interface Content {
        /** Writes one JSON value. */
        void write(JsonGenerator json) throws IOException;
    }

    /**
     * Writes a body.
     *
     * @param expectedBytes about how long it will be
     * @return its bytes, in UTF-8
     */
    public static byte[] toBytes(int expectedBytes, Content content) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(expectedBytes);
        try (JsonGenerator json = RecordWriter.generator(bytes)) {
            content.write(json);
        } catch (IOException e) {
            throw new UncheckedIOException("memory cannot fail to be written", e);
        }
        return bytes.toByteArray();
    }

    /** One record as a body. */
    public static byte[] of(StoredRecord record) {
        return toBytes(1024 + RecordSize.characters(record), json -> RecordWriter.write(record, json));
    }
}
