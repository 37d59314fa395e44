package dev.annals.kernel.database;

import java.io.Serial;

/** Retries did not help against a transient failure of the database. */
public final class DatabaseUnavailableException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1;

    DatabaseUnavailableException(Throwable cause) {
        super(DatabaseFailure.advice(cause), cause, false, false);
    }
}
