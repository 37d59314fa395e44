package dev.annals.core.record;

import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.UUID;

/** A record at its place in the feed, as the bytes that its reader gets. They never change, and many answers may share them. */
public final class EncodedRecord {

    private final long sequenceId;
    private final UUID id;
    private final int mark;
    /** Shared with the records that were encoded before and after it. */
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

    /** Its place: 1, 2, 3 … in its project. */
    public long sequenceId() {
        return sequenceId;
    }

    /** Its id. */
    public UUID id() {
        return id;
    }

    /** What was drawn when its place was given: another value each time, even for the same record. */
    public int mark() {
        return mark;
    }

    /** How many bytes it has. */
    public int length() {
        return length;
    }

    /** Appends its bytes to a buffer that has room for them. */
    public void appendTo(ByteBuffer out) {
        out.put(bytes, offset, length);
    }

    /** Appends its bytes. */
    public void appendTo(Buffer out) {
        out.appendBytes(bytes, offset, length);
    }

    /**
     * Writes its bytes.
     *
     * @throws IOException what {@code out} throws
     */
    public void writeTo(OutputStream out) throws IOException {
        out.write(bytes, offset, length);
    }
}
