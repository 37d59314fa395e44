package dev.annals.record;

import java.util.UUID;

/** A record at its place in the feed, as the bytes that its reader gets. */
public final class EncodedRecord {

    private final long sequenceId;
    private final UUID id;
    private final byte[] bytes;

    EncodedRecord(long sequenceId, UUID id, byte[] bytes) {
        this.sequenceId = sequenceId;
        this.id = id;
        this.bytes = bytes;
    }

    /** Its place: 1, 2, 3 … in its project. */
    public long sequenceId() {
        return sequenceId;
    }

    /** Its id. */
    public UUID id() {
        return id;
    }

    /** The bytes, not a copy. They may be shared by many answers, so nobody may change them. */
    public byte[] bytes() {
        return bytes;
    }
}
