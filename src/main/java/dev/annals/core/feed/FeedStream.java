package dev.annals.core.feed;

import dev.annals.core.feed.HeadWatch.Kind;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemMapper;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.memory.MemoryBudget;
import dev.annals.kernel.memory.Reservation;
import dev.annals.kernel.quarantine.ClientConnection;
import io.smallrye.mutiny.subscription.UniEmitter;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One client's stream of Server-Sent Events (WHATWG HTML, section 9.2). {@link LiveFeed} lists its states.
 *
 * <p>A slow client holds one small page, which counts towards its project's {@link MemoryBudget memory}, and delays only
 * itself. A failure before the first page is answered as for any request; a later one becomes an event {@code problem}, which
 * ends the stream.
 */
final class FeedStream extends LiveFeed.LiveReader {

    /** A stream reads small parts of a page, because it holds what a slow client has not taken. */
    static final int PARTS_OF_A_PAGE = 8;
    /** The pause before a client reopens a broken stream: long enough for another instance to take over. */
    private static final Duration REOPEN = Duration.ofSeconds(1);

    private static final long RETRY_MILLIS = 1000;
    /** Timers may fire this much too early. */
    private static final long MILLISECOND_NANOS = 1_000_000;

    private final HttpServerRequest request;
    private final HttpServerResponse response;
    private final LiveConfig config;
    private final Duration idle;
    private final UniEmitter<? super Response> answer;
    private final MemoryBudget memory;
    private final long openedAt = System.nanoTime();
    private long heartbeat = -1;
    private Cursor sentCursor = Cursor.START;

    private long writtenAt;
    /** Whether the client's connection takes no more, and since when. */
    private boolean full;

    private long fullSince;
    /** For the events written last; the memory only while the connection is full. */
    private int eventBytes;

    private @Nullable Reservation held;
    private boolean more;

    private long readAt;

    /** @param idle how long the client may take nothing */
    FeedStream(
            LiveFeed.Request records,
            LiveFeed feed,
            HttpServerRequest request,
            LiveConfig config,
            Duration idle,
            MemoryBudget memory,
            UniEmitter<? super Response> answer) {
        super(Kind.STREAM, records, feed);
        this.request = request;
        this.response = request.response();
        this.config = config;
        this.idle = idle;
        this.answer = answer;
        this.memory = memory;
        answer.onTermination(this::end);
    }

    @Override
    void handle(SharedReads.Page shared) {
        if (response.closed()) {
            // The client went before the close handler was set.
            complete();
            return;
        }
        if (!response.headWritten()) {
            start();
        }
        FeedPage page = shared.page();
        more = page.next() != null;
        boolean any = !page.records().isEmpty();
        if (any) {
            Buffer events = shared.events();
            eventBytes = events.length();
            write(events);
            sentCursor = page.pollMore();
        }
        moveTo(page.pollMore());
        readAt = shared.readAt();
        if (more && !any) {
            sendCursor();
        }
        readOrWait();
    }

    private void start() {
        response.setChunked(true)
                .putHeader(HttpHeaders.CONTENT_TYPE, MediaType.SERVER_SENT_EVENTS)
                // A proxy that buffers answers would hold the events back.
                .putHeader("X-Accel-Buffering", "no")
                .drainHandler(drained -> {
                    if (full && !isReading() && !isEnded()) {
                        readOrWait();
                    }
                });
        sentCursor = query().cursor() == null ? Cursor.START : query().cursor();
        write("retry: " + REOPEN.toMillis() + "\n\n");
        beatAfter(config.heartbeat().toNanos());
    }

    private void beatAfter(long nanos) {
        long millis = Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos));
        heartbeat = context.owner().setTimer(millis, beat -> {
            beat();
            if (!isEnded()) {
                // Other writes postpone the next one.
                long silent = System.nanoTime() - writtenAt;
                long rest = config.heartbeat().toNanos() - silent;
                beatAfter(rest > 0 ? rest : config.heartbeat().toNanos());
            }
        });
    }

    private void readOrWait() {
        release();
        if (isEnded()) {
            // The connection broke during a write.
            return;
        }
        full = response.writeQueueFull();
        if (full) {
            fullSince = System.nanoTime();
            held = memory.tryReserve(projectId, eventBytes);
            if (held == null) {
                // The client reconnects and continues from its last event.
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
            handleStop();
            return;
        }
        if (full) {
            if (System.nanoTime() - fullSince >= idle.toNanos()) {
                abort();
            }
            return;
        }
        if (!sentCursor.equals(query().cursor())) {
            sendCursor();
        } else if (System.nanoTime() - writtenAt >= config.heartbeat().toNanos() - MILLISECOND_NANOS) {
            write(":\n\n");
        }
    }

    /** No event, but the client continues there if its connection breaks. */
    private void sendCursor() {
        Cursor cursor = query().cursor();
        if (cursor != null) {
            sentCursor = cursor;
            write("id: " + cursor + "\n\n");
        }
    }

    @Override
    void handleFailure(Throwable failure) {
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
    void handleStop() {
        if (!response.headWritten()) {
            answer.fail(new ProblemException(
                    ProblemType.UNAVAILABLE, "The service is stopping. Open the stream at another instance."));
        } else if (full) {
            abort();
        } else {
            close();
        }
    }

    /** Drops the client with everything that it has not read. An orderly end would wait until it has. */
    private void abort() {
        ClientConnection.drop(request);
    }

    private void close() {
        response.end();
        complete();
    }

    /** Calls {@code end} first, because {@code complete} fails if the connection is closed. */
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
