package dev.annals.kernel.http;

import io.vertx.core.Context;

/**
 * A body that writes itself to the connection, at the client's pace. The framework does not report when the client has taken
 * what it writes, and its streams end in the same way whether or not everything was written.
 */
public interface PacedBody {

    /**
     * Begins to write.
     *
     * @param eventLoop the connection's
     */
    void start(Context eventLoop);

    /** The client is gone. */
    void stop();
}
