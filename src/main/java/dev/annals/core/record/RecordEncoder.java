package dev.annals.core.record;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.kernel.http.JsonBody;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.UUID;

/**
 * Encodes records one after the other, each on its own. While a page is read, its records are kept only in this form:
 * it is exactly what is sent, and takes less memory than their fields do. For one thread.
 */
public final class RecordEncoder implements AutoCloseable {

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
    private final Pieces pieces = new Pieces();
    private final JsonGenerator out;

    /** Encodes nothing yet. */
    public RecordEncoder(Format format) {
        this.format = format;
        try {
            out = JsonBody.generator(pieces).setRootValueSeparator(null);
        } catch (IOException e) {
            throw inMemory(e);
        }
    }

    /**
     * Encodes one record.
     *
     * @param mark that of its place
     */
    public EncodedRecord encode(StoredRecord record, int mark) {
        try {
            format.write(record, out);
            out.flush();
        } catch (IOException e) {
            throw inMemory(e);
        }
        return pieces.cutOff(record, mark);
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

    /** Pieces of memory that records share, so that their bytes are not copied once more and little of it stays unused. */
    private static final class Pieces extends OutputStream {

        private static final int FIRST_BYTES = 2 * 1024;
        private static final int MOST_BYTES = 16 * 1024;

        private byte[] piece = new byte[FIRST_BYTES];
        /** Where the record begins that is being written, and how far it has come. */
        private int start;

        private int end;

        @Override
        public void write(int b) {
            makeRoom(1);
            piece[end++] = (byte) b;
        }

        @Override
        public void write(byte[] bytes, int offset, int length) {
            makeRoom(length);
            System.arraycopy(bytes, offset, piece, end, length);
            end += length;
        }

        private void makeRoom(int bytes) {
            if (bytes > piece.length - end) {
                int written = end - start;
                int next = Math.max(Math.min(2 * piece.length, MOST_BYTES), 2 * (written + bytes));
                byte[] larger = new byte[next];
                System.arraycopy(piece, start, larger, 0, written);
                piece = larger;
                start = 0;
                end = written;
            }
        }

        /** The record that was just written. A large one gets bytes of its own. */
        EncodedRecord cutOff(StoredRecord record, int mark) {
            UUID id = record.record().id();
            if (piece.length > MOST_BYTES) {
                byte[] own = Arrays.copyOfRange(piece, start, end);
                piece = new byte[MOST_BYTES];
                start = 0;
                end = 0;
                return new EncodedRecord(record.sequenceId(), id, mark, own, 0, own.length);
            }
            EncodedRecord cut = new EncodedRecord(record.sequenceId(), id, mark, piece, start, end - start);
            start = end;
            return cut;
        }
    }
}
