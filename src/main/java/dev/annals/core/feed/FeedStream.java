package dev.annals.core.feed;

import dev.annals.core.feed.HeadWatch.Kind;
import dev.annals.core.query.Filter;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemMapper;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.memory.MemoryBudget;
import dev.annals.kernel.memory.Reservation;
import dev.annals.kernel.quarantine.ClientConnection;
import io.smallrye.mutiny.subscription.UniEmitter;
import io.vertx.core.Context;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One client's stream of Server-Sent Events (WHATWG HTML, section 9.2).
 *
 * <p>Pages are written as they are read, and the next one is read when the client's connection has taken the last: a slow
 * client holds one page of limited size, which counts towards its project's {@link MemoryBudget memory}, and delays only
 * itself. Failures before the first page are answered as for any request; later ones become an event {@code problem}, which
 * ends the stream.
 */
final class FeedStream extends Follower {

    /** A stream reads such a part of a page at a time, because it holds what a slow client has not taken. */
    private static final int PARTS_OF_A_PAGE = 8;
    /** How long clients are asked to wait before they reopen a broken stream: long enough for another instance to take over. */
    private static final Duration REOPEN = Duration.ofSeconds(1);

    private static final long RETRY_MILLIS = 1000;
    /** Timers are no more exact than that. */
    private static final long MILLISECOND_NANOS = 1_000_000;

    private final HttpServerRequest request;
    private final HttpServerResponse response;
    private final Context context;
    private final LiveConfig config;
    private final Duration stall;
    private final UniEmitter<? super Response> answer;
    private final MemoryBudget memory;
    private final long openedAt = System.nanoTime();
    private long heartbeat = -1;
    /** The last {@code id} that was sent. */
    private Cursor told = Cursor.START;

    private long writtenAt;
    /** Whether the client's connection currently takes no more, and since when. */
    private boolean full;

    private long fullSince;
    /** What was written last, and the memory that it takes while the client is slow. */
    private int heldBytes;

    private @Nullable Reservation held;
    /** Whether there is more to read at once, and when the last read began. */
    private boolean more;

    private long readAt;

    FeedStream(
            UUID projectId,
            FeedQuery query,
            Supplier<Filter> filter,
            HttpServerRequest request,
            HeadWatch watch,
            ReadCoalescer<SharedPage.Key, SharedPage> reads,
            LiveConfig config,
            FeedConfig pages,
            MemoryBudget memory,
            Context context,
            UniEmitter<? super Response> answer) {
        super(Kind.STREAM, projectId, query.atMost(pages.pageBytes() / PARTS_OF_A_PAGE), filter, watch, reads, context);
        this.request = request;
        this.response = request.response();
        this.context = context;
        this.config = config;
        this.stall = pages.idle();
        this.answer = answer;
        this.memory = memory;
        // The stream has ended, or the client has gone.
        answer.onTermination(this::end);
    }

    @Override
    void take(SharedPage shared) {
        if (response.closed()) {
            // The client has gone before the close handler was set.
            complete();
            return;
        }
        if (!response.headWritten()) {
            begin();
        }
        FeedPage page = shared.page();
        more = page.next() != null;
        boolean any = !page.records().isEmpty();
        if (any) {
            Buffer events = shared.events();
            heldBytes = events.length();
            write(events);
            told = page.pollMore();
        }
        moveTo(page.pollMore());
        readAt = shared.readAt();
        if (more && !any) {
            tellHowFar();
        }
        goOn();
    }

    private void begin() {
        response.setChunked(true)
                .putHeader(HttpHeaders.CONTENT_TYPE, MediaType.SERVER_SENT_EVENTS)
                // Otherwise a proxy that buffers answers would hold the events back.
                .putHeader("X-Accel-Buffering", "no")
                .drainHandler(drained -> {
                    if (full && !isReading() && !isDone()) {
                        goOn();
                    }
                });
        told = query().cursor() == null ? Cursor.START : query().cursor();
        write("retry: " + REOPEN.toMillis() + "\n\n");
        beatAfter(config.heartbeat().toNanos());
    }

    private void beatAfter(long nanos) {
        long millis = Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos));
        heartbeat = context.owner().setTimer(millis, beat -> {
            beat();
            if (!isDone()) {
                // What is written in between puts it off.
                long silent = System.nanoTime() - writtenAt;
                long rest = config.heartbeat().toNanos() - silent;
                beatAfter(rest > 0 ? rest : config.heartbeat().toNanos());
            }
        });
    }

    /** Reads on or waits, once the client has taken what it was sent. */
    private void goOn() {
        release();
        if (isDone()) {
            // The connection broke during a write.
            return;
        }
        full = response.writeQueueFull();
        if (full) {
            fullSince = System.nanoTime();
            held = memory.tryReserve(projectId, heldBytes);
            if (held == null) {
                // When the client comes back, it continues from its last event.
                abort();
            }
        } else if (more) {
            read(readAt);
        } else {
            await(readAt);
        }
    }

    private void release() {
        if (held != null) {
            held.close();
            held = null;
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
            if (System.nanoTime() - fullSince >= stall.toNanos()) {
                abort();
            }
            return;
        }
        if (!told.equals(query().cursor())) {
            tellHowFar();
        } else if (System.nanoTime() - writtenAt >= config.heartbeat().toNanos() - MILLISECOND_NANOS) {
            write(":\n\n");
        }
    }

    /** An {@code id} without data is not an event, but it is where the client continues if its connection breaks. */
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
        Problem problem = ProblemMapper.of("The stream " + request.path(), failure);
        if (problem.type() == ProblemType.UNAVAILABLE || problem.type() == ProblemType.OVERLOADED) {
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

    /** Drops the client together with everything it has not read. An orderly end would wait for that. */
    private void abort() {
        ClientConnection.drop(request);
    }

    private void close() {
        response.end();
        complete();
    }

    /** {@code end} comes first, because completing the answer fails if the connection is closed. */
    private void complete() {
        end();
        answer.complete(Response.ok().build());
    }

    private void write(String text) {
        write(Buffer.buffer(text));
    }

    private void write(Buffer bytes) {
        writtenAt = System.nanoTime();
        response.write(bytes);
    }

    @Override
    void end() {
        context.owner().cancelTimer(heartbeat);
        release();
        super.end();
    }
}
