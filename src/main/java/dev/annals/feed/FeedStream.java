package dev.annals.feed;

import dev.annals.feed.SharedPage.Events;
import dev.annals.problem.Problem;
import dev.annals.problem.ProblemException;
import dev.annals.problem.ProblemMapper;
import dev.annals.problem.ProblemType;
import io.netty.channel.ChannelFutureListener;
import io.smallrye.mutiny.subscription.UniEmitter;
import io.vertx.core.Context;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.net.impl.ConnectionBase;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.nio.charset.StandardCharsets;
import java.util.UUID;

/**
 * One client's stream of Server-Sent Events (WHATWG HTML, section 9.2).
 *
 * <p>Pages are written as they are read, and the next one is read when the client's connection has taken the last: a slow
 * client holds one page, of so many bytes at most, and waits for nobody but itself. Until the first page is there, what
 * goes wrong is answered as for any request; later as an event {@code problem}, which ends the stream.
 */
final class FeedStream extends Follower {

    private static final long RETRY_MILLIS = 1000;

    private final HttpServerRequest request;
    private final HttpServerResponse response;
    private final Context context;
    private final LiveConfig config;
    private final UniEmitter<? super Response> answer;
    private final int limit;
    private final long openedAt = System.nanoTime();
    private long heartbeat = -1;
    /** The last {@code id} that went out. */
    private Cursor told = Cursor.START;

    private boolean quiet;
    /** Whether the client's connection takes no more for now, and since when. */
    private boolean full;

    private long fullSince;
    /** Whether there is more to read at once, and when the last read began. */
    private boolean more;

    private long readAt;

    FeedStream(
            UUID projectId,
            FeedQuery query,
            HttpServerRequest request,
            HeadWatch watch,
            SharedReads reads,
            LiveConfig config,
            Context context,
            UniEmitter<? super Response> answer) {
        super(Kind.STREAM, projectId, query, watch, reads, context);
        this.request = request;
        this.response = request.response();
        this.context = context;
        this.config = config;
        this.answer = answer;
        this.limit = query.limit();
        // It has ended, or the client has gone.
        answer.onTermination(this::end);
    }

    @Override
    void take(SharedPage shared) {
        if (response.closed()) {
            // The client went before anybody could be told.
            complete();
            return;
        }
        if (!response.headWritten()) {
            begin();
        }
        FeedPage page = shared.page();
        Events events = shared.events(config.streamBytes());
        Cursor cursor = page.pollMore();
        int nextLimit = Math.min(limit, query().limit() * 2);
        more = page.next() != null;
        if (events.last() != null) {
            write(events.bytes());
            told = events.last();
            if (events.records() < page.records().size()) {
                // The next read takes about as much as fits, lest most of it is read in vain again.
                cursor = events.last();
                nextLimit = events.records();
                more = true;
            }
        }
        moveTo(cursor, nextLimit);
        readAt = shared.readAt();
        if (more && events.last() == null) {
            tellHowFar();
        }
        goOn();
    }

    private void begin() {
        response.setChunked(true)
                .putHeader(HttpHeaders.CONTENT_TYPE, MediaType.SERVER_SENT_EVENTS)
                .putHeader(HttpHeaders.CACHE_CONTROL, "no-store")
                // A proxy that gathers an answer before it passes it on would hold the events back.
                .putHeader("X-Accel-Buffering", "no")
                .drainHandler(drained -> {
                    if (full && !isReading() && !isDone()) {
                        goOn();
                    }
                });
        told = query().cursor() == null ? Cursor.START : query().cursor();
        write("retry: " + config.retry().toMillis() + "\n\n");
        heartbeat = context.owner().setPeriodic(config.heartbeat().toMillis(), beat -> beat());
    }

    /** Reads on or waits, as soon as the client has taken what it was sent. */
    private void goOn() {
        full = response.writeQueueFull();
        if (full) {
            fullSince = System.nanoTime();
        } else if (more) {
            read(readAt);
        } else {
            await(readAt);
        }
    }

    private void beat() {
        if (response.closed()) {
            complete();
            return;
        }
        if (System.nanoTime() - openedAt >= config.streamAge().toNanos() && !isReading()) {
            stopping();
            return;
        }
        if (full) {
            if (System.nanoTime() - fullSince >= config.stall().toNanos()) {
                abort();
            }
            return;
        }
        if (!told.equals(query().cursor())) {
            tellHowFar();
        } else if (quiet) {
            write(":\n\n");
        }
        quiet = true;
    }

    /** An {@code id} without data is no event, but where the client goes on from if its connection breaks. */
    private void tellHowFar() {
        Cursor cursor = query().cursor();
        if (cursor != null) {
            told = cursor;
            write("id: " + cursor + "\n\n");
        }
    }

    @Override
    void failed(Throwable failure) {
        if (!response.headWritten()) {
            answer.fail(failure);
            return;
        }
        Problem problem = failure instanceof ProblemException e
                ? e.problem()
                : ProblemMapper.unexpected("The stream " + request.path(), failure);
        if (problem.type() == ProblemType.UNAVAILABLE) {
            context.owner().setTimer(RETRY_MILLIS, again -> read(System.nanoTime()));
            return;
        }
        write("event: problem\ndata: " + new String(problem.toJson(), StandardCharsets.UTF_8) + "\n\n");
        close();
    }

    @Override
    void stopping() {
        if (!response.headWritten()) {
            answer.fail(new ProblemException(
                    ProblemType.UNAVAILABLE, "The service is stopping. Open the stream at another instance."));
        } else if (full) {
            abort();
        } else {
            close();
        }
    }

    /** Drops the client with all that it has not taken, which an orderly end would wait for. */
    private void abort() {
        if (request.connection() instanceof ConnectionBase connection && request.version() != HttpVersion.HTTP_2) {
            // Past the handler that sends first what waits to be sent.
            connection.channelHandlerContext().close().addListener(ChannelFutureListener.CLOSE_ON_FAILURE);
        } else {
            response.reset();
        }
    }

    private void close() {
        response.end();
        complete();
    }

    /** The end comes first: what is done with the answer fails where the connection is closed. */
    private void complete() {
        end();
        answer.complete(Response.ok().build());
    }

    private void write(String text) {
        write(Buffer.buffer(text));
    }

    private void write(Buffer bytes) {
        quiet = false;
        response.write(bytes);
    }

    @Override
    void end() {
        context.owner().cancelTimer(heartbeat);
        super.end();
    }
}
