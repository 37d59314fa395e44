package dev.annals.memory;

import java.io.Serial;

/** There is no memory for a request now, or not for one more of its holder. Its message says what to do. */
public final class NoMemoryException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1;

    public NoMemoryException(String message) {
        super(message, null, false, false);
    }
}
