package dev.annals.record;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.http.JsonBody;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;

/**
 * Encodes records one after the other, each on its own. While a page is read, its records are kept only in this form:
 * it is exactly what is sent, and takes less memory than their fields do. For one thread.
 */
public final class RecordEncoder implements AutoCloseable {

    private static final int COMMON_BYTES = 1024;

    /** How a record is written. */
    @FunctionalInterface
    public interface Format {

        /** Feeds have this one: the record as a JSON object. */
        Format JSON = RecordWriter::write;

        /**
         * Writes one record, as JSON or as raw text.
         *
         * @throws IOException what {@code out} throws
         */
        void write(StoredRecord record, JsonGenerator out) throws IOException;
    }

    private final Format format;
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream(COMMON_BYTES);
    private final JsonGenerator out;

    /** Encodes nothing yet. */
    public RecordEncoder(Format format) {
        this.format = format;
        try {
            out = JsonBody.generator(bytes).setRootValueSeparator(null);
        } catch (IOException e) {
            throw inMemory(e);
        }
    }

    /** Encodes one record. */
    public EncodedRecord encode(StoredRecord record) {
        bytes.reset();
        try {
            format.write(record, out);
            out.flush();
        } catch (IOException e) {
            throw inMemory(e);
        }
        return new EncodedRecord(record.sequenceId(), record.record().id(), bytes.toByteArray());
    }

    /** Gives its buffers back for the next one. */
    @Override
    public void close() {
        try {
            out.close();
        } catch (IOException e) {
            throw inMemory(e);
        }
    }

    private static UncheckedIOException inMemory(IOException e) {
        return new UncheckedIOException("memory cannot fail to be written", e);
    }
}
