package dev.annals.kernel.http;

import io.vertx.core.Context;

/**
 * A body that writes itself to the connection, at the client's pace. The framework reports neither that the client has taken a
 * part, nor whether a stream was written completely.
 */
public interface PacedBody {

    /**
     * Begins to write.
     *
     * @param eventLoop of the connection
     */
    void start(Context eventLoop);

    /** Ends the body: the client is gone. */
    void stop();
}
