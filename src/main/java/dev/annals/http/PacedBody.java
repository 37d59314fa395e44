package dev.annals.http;

import io.vertx.core.Context;
import io.vertx.core.http.HttpServerRequest;

/**
 * A body that writes itself to the connection, at the client's pace. The framework does not report when the client has taken
 * what it writes, and its streams end in the same way whether or not everything was written.
 */
public interface PacedBody {

    /**
     * Begins to write.
     *
     * @param request the request that is answered
     * @param eventLoop the connection's
     * @param done called once, when the answer is out or has failed
     */
    void start(HttpServerRequest request, Context eventLoop, Runnable done);

    /** The client is gone. */
    void stop();
}
