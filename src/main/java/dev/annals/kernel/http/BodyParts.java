package dev.annals.kernel.http;

import dev.annals.kernel.memory.NoMemoryException;
import io.vertx.core.Context;
import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.core.HttpHeaders;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The body of a request as it arrives, in parts. Unpacks gzip, and stops a sender that is too slow. While paused, it neither
 * reads nor unpacks.
 *
 * <p>All methods run on the request's event loop, except {@link #isOld}.
 */
public final class BodyParts {

    /** Beyond the first MiB. Made-up bodies reach 1,000. */
    private static final int MAX_UNPACK_RATIO = 100;

    /** The time in which a client may finish an unwanted body. */
    private static final long LINGER_MILLIS = 5_000;

    private static final int UNPACKED_BYTES = 16_384;

    private final HttpServerRequest request;
    private final Context context;
    private final BodyWatch watch;
    private final BodyConfig config;
    private final @Nullable Gunzip gunzip;
    private final byte[] unpacked;

    private Handler<Buffer> handler = part -> {};
    private Handler<Throwable> failed = failure -> {};
    private boolean paused = true;
    private boolean done;
    private boolean unpacking;
    private boolean partLeft;

    private final long startedNanos = System.nanoTime();
    private @Nullable Duration timeLimit;
    private long readingNanos;
    private long readingSince;
    private long received;
    private long receivedBefore;

    /** @throws ProblemException {@code unsupported-media-type} for an encoding that is not supported */
    BodyParts(HttpServerRequest request, Context context, BodyWatch watch, BodyConfig config) {
        this.request = request;
        this.context = context;
        this.watch = watch;
        this.config = config;
        boolean packed = isGzip(request);
        this.gunzip = packed ? new Gunzip(MAX_UNPACK_RATIO) : null;
        this.unpacked = new byte[packed ? UNPACKED_BYTES : 0];
    }

    private static boolean isGzip(HttpServerRequest request) {
        List<String> encodings = request.headers().getAll(HttpHeaders.CONTENT_ENCODING);
        String encoding = encodings.isEmpty() ? "identity" : encodings.get(0).strip();
        boolean gzip = encoding.equalsIgnoreCase("gzip") || encoding.equalsIgnoreCase("x-gzip");
        if (encodings.size() > 1 || !(gzip || encoding.equalsIgnoreCase("identity"))) {
            throw new ProblemException(
                    ProblemType.UNSUPPORTED_MEDIA_TYPE,
                    "This Content-Encoding is not accepted here. Send the body as it is, or compressed with gzip.");
        }
        return gzip;
    }

    /** Whether the body has more bytes than are sent. */
    boolean arePacked() {
        return gunzip != null;
    }

    /** By default, only the rate is limited. */
    void timeLimit(Duration limit) {
        timeLimit = limit;
    }

    /**
     * Calls either {@code end} or {@code failure}, once, unless the body is dropped.
     *
     * @param failure gets {@code malformed-encoding}, {@code body-too-large}, {@code body-too-slow}, or the connection's
     *     failure
     */
    public void read(Handler<Buffer> part, Runnable end, Handler<Throwable> failure) {
        handler = part;
        failed = failure;
        request.exceptionHandler(this::fail);
        request.endHandler(nothing -> end(end));
        request.handler(this::received);
        watch.add(this);
        RequestHead.askForBody(request);
        resume();
    }

    private void received(Buffer part) {
        received += part.length();
        if (done) {
            return;
        }
        if (gunzip == null) {
            handler.handle(part);
            return;
        }
        gunzip.feed(part.getBytes());
        partLeft = true;
        unpack(gunzip);
    }

    private void unpack(Gunzip packed) {
        if (unpacking) {
            return;
        }
        unpacking = true;
        try {
            while (partLeft && !paused && !done) {
                int length = packed.next(unpacked);
                if (length == 0) {
                    partLeft = false;
                } else {
                    handler.handle(Buffer.buffer(length).appendBytes(unpacked, 0, length));
                }
            }
        } catch (ProblemException | NoMemoryException e) {
            fail(e);
        } finally {
            unpacking = false;
            closeWhenDone();
        }
        if (!paused && !done) {
            // A reader may have paused and resumed it meanwhile.
            request.resume();
        }
    }

    private void end(Runnable end) {
        if (done) {
            return;
        }
        try {
            if (gunzip != null) {
                gunzip.end();
            }
        } catch (ProblemException e) {
            fail(e);
            return;
        }
        finish();
        end.run();
    }

    private void fail(Throwable failure) {
        if (!done) {
            finish();
            dropRest();
            failed.handle(failure);
        }
    }

    private void finish() {
        done = true;
        watch.remove(this);
        closeWhenDone();
    }

    private void closeWhenDone() {
        if (done && gunzip != null && !unpacking) {
            gunzip.close();
        }
    }

    public void pause() {
        if (!paused) {
            paused = true;
            readingNanos += System.nanoTime() - readingSince;
            request.pause();
        }
    }

    public void resume() {
        if (paused) {
            paused = false;
            readingSince = System.nanoTime();
            if (gunzip != null && partLeft) {
                unpack(gunzip);
            } else {
                request.resume();
            }
        }
    }

    /**
     * Drops the rest as it arrives: a client that is cut off while it sends may never see the answer. A client that takes long
     * loses its connection.
     */
    public void drop() {
        if (!done) {
            finish();
            dropRest();
        }
    }

    private void dropRest() {
        paused = false;
        request.resume();
        context.owner().setTimer(LINGER_MILLIS, timer -> {
            if (!request.isEnded()) {
                request.connection().close();
            }
        });
    }

    boolean isOld(long now) {
        return now - startedNanos >= config.patience().toNanos();
    }

    void checkOnItsContext() {
        context.runOnContext(nothing -> check(System.nanoTime()));
    }

    private void check(long now) {
        if (done) {
            return;
        }
        if (timeLimit != null && now - startedNanos > timeLimit.toNanos()) {
            fail(tooSlow("The body took longer than " + timeLimit.toSeconds() + " seconds."));
            return;
        }
        long reading = readingNanos + (paused ? 0 : now - readingSince);
        if (reading >= config.patience().toNanos()) {
            long seconds = TimeUnit.NANOSECONDS.toSeconds(reading);
            if (received - receivedBefore < seconds * config.rate()) {
                fail(tooSlow("The body came with fewer than " + config.rate() + " bytes a second."));
            }
            receivedBefore = received;
            readingNanos = 0;
            readingSince = now;
        }
    }

    private static ProblemException tooSlow(String why) {
        return new ProblemException(ProblemType.BODY_TOO_SLOW, why + " Send it again, in smaller requests.");
    }
}
