package dev.annals.database;

import java.io.Serial;

/** A connection to the database could be made, and is not what the service needs. The message says what to do. */
public final class UnusableSessionException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1;

    UnusableSessionException(String message) {
        super(message, null, false, false);
    }
}
