package dev.annals.kernel.quarantine;

import io.netty.channel.ChannelFutureListener;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.net.impl.ConnectionBase;

/** The connection of a client that does not read. */
public final class ClientConnection {

    private ClientConnection() {}

    /** Closes the connection without waiting for the client to read the rest. */
    public static void drop(HttpServerRequest request) {
        if (request.connection() instanceof ConnectionBase connection && request.version() != HttpVersion.HTTP_2) {
            // Bypasses the handler that would send the waiting bytes.
            connection.channelHandlerContext().close().addListener(ChannelFutureListener.CLOSE_ON_FAILURE);
        } else {
            request.response().reset();
        }
    }
}
