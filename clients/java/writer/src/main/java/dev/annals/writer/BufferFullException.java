package dev.annals.writer;

/** The buffer is full and stayed so for as long as an append may wait: the record was not taken, and the caller has it. */
public final class BufferFullException extends RuntimeException {

    private static final long serialVersionUID = 1;

    BufferFullException(String message) {
        super(message);
    }
}
