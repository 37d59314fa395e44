package dev.annals.writer;

/** The buffer stayed full for as long as an append may wait. The client did not take the record. */
public final class BufferFullException extends RuntimeException {

    private static final long serialVersionUID = 1;

    BufferFullException(String message) {
        super(message);
    }
}
