package dev.annals.tools.embedded;

/** Says in one sentence why the embedded database cannot run, and what to do about it. */
public final class EmbeddedDatabaseException extends RuntimeException {

    private static final long serialVersionUID = 1;

    EmbeddedDatabaseException(String message) {
        super(message);
    }

    EmbeddedDatabaseException(String message, Throwable cause) {
        super(message, cause);
    }
}
