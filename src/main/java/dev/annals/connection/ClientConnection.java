package dev.annals.connection;

import io.netty.channel.ChannelFutureListener;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.net.impl.ConnectionBase;

/** The connection of a client that does not read. */
public final class ClientConnection {

    private ClientConnection() {}

    /** Drops the client with all that it has not taken, which an orderly end would wait for. */
    public static void drop(HttpServerRequest request) {
        if (request.connection() instanceof ConnectionBase connection && request.version() != HttpVersion.HTTP_2) {
            // Past the handler that sends first what waits to be sent.
            connection.channelHandlerContext().close().addListener(ChannelFutureListener.CLOSE_ON_FAILURE);
        } else {
            request.response().reset();
        }
    }
}
