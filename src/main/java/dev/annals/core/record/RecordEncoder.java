package dev.annals.core.record;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.SerializableString;
import com.fasterxml.jackson.core.io.SerializedString;
import dev.annals.core.record.AuditRecord.Party;
import dev.annals.core.record.StoredRecord.Redaction;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.Timestamps;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Writes stored records for clients. An instance encodes records one after the other, each as an {@link EncodedRecord}: pages
 * keep records only in this form, which is exactly what is sent, and takes less memory than the fields. An instance is for
 * one thread.
 */
public final class RecordEncoder implements AutoCloseable {

    private static final SerializableString ID = new SerializedString("id");
    private static final SerializableString SEQUENCE_ID = new SerializedString("sequence_id");
    private static final SerializableString ACTION = new SerializedString("action");
    private static final SerializableString ACTOR = new SerializedString("actor");
    private static final SerializableString SUBJECT = new SerializedString("subject");
    private static final SerializableString TYPE = new SerializedString("type");
    private static final SerializableString NAME = new SerializedString("name");
    private static final SerializableString OUTCOME = new SerializedString("outcome");
    private static final SerializableString IP_ADDRESS = new SerializedString("ip_address");
    private static final SerializableString MESSAGE = new SerializedString("message");
    private static final SerializableString TIMESTAMP = new SerializedString("timestamp");
    private static final SerializableString RECORDED_AT = new SerializedString("recorded_at");
    private static final SerializableString RECORDED_BY = new SerializedString("recorded_by");
    private static final SerializableString METADATA = new SerializedString("metadata");
    private static final SerializableString NUMBER = new SerializedString("number");
    private static final SerializableString SEQUENCE = new SerializedString("sequence");
    private static final SerializableString VALUE = new SerializedString("value");

    @FunctionalInterface
    public interface Format {

        Format JSON = RecordEncoder::write;

        /** Writes one record, as JSON or as raw text. */
        void write(StoredRecord record, JsonGenerator out) throws IOException;
    }

    private final Format format;
    private final Pieces pieces = new Pieces();
    private final JsonGenerator out;

    public RecordEncoder(Format format) {
        this.format = format;
        try {
            out = JsonBody.generator(pieces).setRootValueSeparator(null);
        } catch (IOException e) {
            throw inMemory(e);
        }
    }

    public EncodedRecord encode(StoredRecord record, int mark) {
        try {
            format.write(record, out);
            out.flush();
        } catch (IOException e) {
            throw inMemory(e);
        }
        return pieces.cutOff(record, mark);
    }

    /** Returns the buffers, for another encoder. */
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

    public static byte[] toBytes(StoredRecord record) {
        return JsonBody.toBytes(1024, json -> write(record, json));
    }

    /**
     * Leaves out absent fields, except {@code metadata}, which is then {@code {}}. Writes metadata as it is stored,
     * unchecked.
     */
    public static void write(StoredRecord stored, JsonGenerator json) throws IOException {
        json.writeStartObject();
        fields(stored, json);
        json.writeEndObject();
    }

    /** Writes the fields into an open object. */
    public static void fields(StoredRecord stored, JsonGenerator json) throws IOException {
        AuditRecord record = stored.record();
        string(json, ID, record.id().toString());
        json.writeFieldName(SEQUENCE_ID);
        json.writeNumber(stored.sequenceId());
        string(json, ACTION, record.action());
        party(json, ACTOR, record.actor());
        party(json, SUBJECT, record.subject());
        string(json, OUTCOME, record.outcome());
        string(json, IP_ADDRESS, record.ipAddress());
        string(json, MESSAGE, record.message());
        string(json, TIMESTAMP, Timestamps.format(record.timestamp()));
        string(json, RECORDED_AT, Timestamps.format(stored.recordedAt()));
        string(json, RECORDED_BY, stored.recordedBy());
        number(stored, json);
        json.writeFieldName(METADATA);
        json.writeRawValue(record.metadata() == null ? "{}" : record.metadata());
        Redaction redaction = stored.redaction();
        if (redaction != null) {
            redaction.write(json);
        }
    }

    /** Writes the field {@code number} into an open object, if the record has one. */
    public static void number(StoredRecord stored, JsonGenerator json) throws IOException {
        String sequence = stored.record().numberSequence();
        Long value = stored.numberValue();
        if (sequence != null && value != null) {
            json.writeFieldName(NUMBER);
            json.writeStartObject();
            string(json, SEQUENCE, sequence);
            json.writeFieldName(VALUE);
            json.writeNumber(value);
            json.writeEndObject();
        }
    }

    private static void party(JsonGenerator json, SerializableString name, @Nullable Party party) throws IOException {
        if (party == null) {
            return;
        }
        json.writeFieldName(name);
        json.writeStartObject();
        string(json, TYPE, party.type());
        string(json, ID, party.id());
        string(json, NAME, party.name());
        json.writeEndObject();
    }

    private static void string(JsonGenerator json, SerializableString name, @Nullable String value) throws IOException {
        if (value != null) {
            json.writeFieldName(name);
            json.writeString(value);
        }
    }

    /** Arrays that records share, so that their bytes are not copied again and few stay unused. */
    private static final class Pieces extends OutputStream {

        private static final int FIRST_BYTES = 2 * 1024;
        private static final int MOST_BYTES = 16 * 1024;

        private byte[] piece = new byte[FIRST_BYTES];
        /** The beginning of the record being written, and its end so far. */
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

        /** A large record gets an array of its own. */
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

    /** A record as the bytes of answers. It never changes, and many answers may share it. */
    public static final class EncodedRecord {

        private final long sequenceId;
        private final UUID id;
        private final int mark;
        /** Shared with other records. */
        private final byte[] bytes;

        private final int offset;
        private final int length;

        EncodedRecord(long sequenceId, UUID id, int mark, byte[] bytes, int offset, int length) {
            this.sequenceId = sequenceId;
            this.id = id;
            this.mark = mark;
            this.bytes = bytes;
            this.offset = offset;
            this.length = length;
        }

        /**
         * A copy with one more member at the end.
         *
         * @param member JSON such as {@code "name":{}}
         */
        public EncodedRecord with(byte[] member) {
            ByteBuffer longer = ByteBuffer.allocate(length + 1 + member.length);
            longer.put(bytes, offset, length - 1).put((byte) ',').put(member).put((byte) '}');
            return new EncodedRecord(sequenceId, id, mark, longer.array(), 0, longer.capacity());
        }

        public long sequenceId() {
            return sequenceId;
        }

        public UUID id() {
            return id;
        }

        /** The random number of its place. It differs each time a place is given, even for the same record. */
        public int mark() {
            return mark;
        }

        /** In bytes. */
        public int length() {
            return length;
        }

        /** The buffer must have room. */
        public void appendTo(ByteBuffer out) {
            out.put(bytes, offset, length);
        }

        public void appendTo(Buffer out) {
            out.appendBytes(bytes, offset, length);
        }

        public void writeTo(OutputStream out) throws IOException {
            out.write(bytes, offset, length);
        }

        public JsonParser parser() throws IOException {
            return JsonText.JSON.createParser(bytes, offset, length);
        }

        /** The text of the value that begins at the parser's place, which moves to its end. */
        public String text(JsonParser parser) throws IOException {
            int from = (int) parser.currentTokenLocation().getByteOffset();
            parser.skipChildren();
            int to = (int) parser.currentLocation().getByteOffset();
            return new String(bytes, offset + from, to - from, StandardCharsets.UTF_8);
        }
    }
}
