package dev.annals.kernel.database;

import java.io.Serial;

/** A connection to the database could be made, and is not what the service needs. The message says what to do. */
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

    /** The session is as it has to be, on a server that is not the one to use. */
    static UnusableSessionException otherServer(String message) {
        return new UnusableSessionException(message, true);
    }

    boolean isOtherServer() {
        return otherServer;
    }
}
