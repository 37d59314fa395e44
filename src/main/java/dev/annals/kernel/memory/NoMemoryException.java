package dev.annals.kernel.memory;

import java.io.Serial;

/** No memory for a request now, or none for its holder. The message advises the client. */
public final class NoMemoryException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1;

    public NoMemoryException(String message) {
        super(message, null, false, false);
    }
}
