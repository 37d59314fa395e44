package dev.annals.kernel.database;

import java.io.Serial;

/** The session of a new connection cannot be used. The message says what to do. */
public final class UnusableSessionException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1;

    private final boolean otherServer;

    UnusableSessionException(String message) {
        this(message, false);
    }

    private UnusableSessionException(String message, boolean otherServer) {
        super(message, null, false, false);
        this.otherServer = otherServer;
    }

    /** The session would do, but not its server. */
    static UnusableSessionException otherServer(String message) {
        return new UnusableSessionException(message, true);
    }

    boolean isOtherServer() {
        return otherServer;
    }
}
