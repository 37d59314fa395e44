package dev.annals.kernel.database;

import java.io.Serial;

/** The database could not be reached, or was overloaded, and retries did not help. */
public final class DatabaseUnavailableException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1;

    DatabaseUnavailableException(Throwable cause) {
        super(DatabaseFailure.advice(cause), cause, false, false);
    }
}
