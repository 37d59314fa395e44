package dev.annals.core.feed;

import dev.annals.kernel.http.PacedBody;
import dev.annals.kernel.memory.Reservation;
import dev.annals.kernel.quarantine.ClientConnection;
import io.netty.buffer.Unpooled;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import java.time.Duration;

/**
 * A body with records on its way to a client, at the client's pace. Its memory is released when the connection has taken all
 * of it. A client that reads nothing for too long is dropped.
 *
 * <p>Everything happens on the connection's event loop.
 */
final class PageAnswer implements PacedBody {

    /** What goes to the network at a time. */
    private static final int PIECE_BYTES = 64 * 1024;

    private final HttpServerRequest request;
    private final Buffer body;
    private final Reservation held;
    private final Duration idle;
    private boolean ended;
    private int written;

    /**
     * An answer that is ready to be sent.
     *
     * @param request the request that it answers
     * @param held its memory, which this object takes over
     * @param idle how long the client may read nothing
     */
    @SuppressWarnings("deprecation") // every other way to make a Buffer copies the page
    PageAnswer(HttpServerRequest request, byte[] body, Reservation held, Duration idle) {
        this.request = request;
        this.body = Buffer.buffer(Unpooled.wrappedBuffer(body));
        this.held = held;
        this.idle = idle;
        held.shrinkTo(body.length);
    }

    @Override
    public void start(Context eventLoop) {
        HttpServerResponse response = request.response();
        if (response.closed()) {
            end();
            return;
        }
        response.putHeader("Content-Length", Integer.toString(body.length()));
        write(response, eventLoop);
    }

    @Override
    public void stop() {
        end();
    }

    private void write(HttpServerResponse response, Context eventLoop) {
        while (body.length() - written > PIECE_BYTES && !ended) {
            Buffer piece = body.slice(written, written + PIECE_BYTES);
            written += PIECE_BYTES;
            Future<Void> sent = response.write(piece);
            if (response.writeQueueFull()) {
                whenTaken(sent, eventLoop, () -> write(response, eventLoop));
                return;
            }
        }
        if (!ended) {
            whenTaken(response.end(body.slice(written, body.length())), eventLoop, this::end);
        }
    }

    /** A failed write also ends in the close handler. */
    private void whenTaken(Future<Void> sent, Context eventLoop, Runnable then) {
        if (sent.isComplete()) {
            then.run();
            return;
        }
        long timer = eventLoop.owner().setTimer(idle.toMillis(), late -> {
            ClientConnection.drop(request);
            end();
        });
        sent.onComplete(taken -> {
            eventLoop.owner().cancelTimer(timer);
            if (taken.succeeded()) {
                then.run();
            } else {
                end();
            }
        });
    }

    private void end() {
        if (!ended) {
            ended = true;
            held.close();
        }
    }
}
