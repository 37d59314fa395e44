package dev.annals.tools.embedded;

/** The embedded database cannot run. The message is one sentence that names the fault and the remedy. */
public final class EmbeddedDatabaseException extends RuntimeException {

    private static final long serialVersionUID = 1;

    EmbeddedDatabaseException(String message) {
        super(message);
    }

    EmbeddedDatabaseException(String message, Throwable cause) {
        super(message, cause);
    }
}
