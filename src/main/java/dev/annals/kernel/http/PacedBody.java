package dev.annals.kernel.http;

import io.vertx.core.Context;

/**
 * Writes itself at the client's pace. The framework reports neither that the client took a part, nor that a stream is complete.
 */
public interface PacedBody {

    /**
     * Begins to write.
     *
     * @param eventLoop of the connection
     */
    void start(Context eventLoop);

    /** Called when the client is gone. */
    void stop();
}
