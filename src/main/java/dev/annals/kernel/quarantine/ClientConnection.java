package dev.annals.kernel.quarantine;

import io.netty.channel.ChannelFutureListener;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.net.impl.ConnectionBase;

/** The connection of a client that does not read. */
public final class ClientConnection {

    private ClientConnection() {}

    /** Drops the client together with everything it has not read. An orderly close would wait for that. */
    public static void drop(HttpServerRequest request) {
        if (request.connection() instanceof ConnectionBase connection && request.version() != HttpVersion.HTTP_2) {
            // Bypasses the handler that would first send what is still waiting.
            connection.channelHandlerContext().close().addListener(ChannelFutureListener.CLOSE_ON_FAILURE);
        } else {
            request.response().reset();
        }
    }
}
