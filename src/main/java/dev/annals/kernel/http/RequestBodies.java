package dev.annals.kernel.http;

import dev.annals.kernel.memory.MemoryBudget;
import dev.annals.kernel.memory.NoMemoryException;
import dev.annals.kernel.memory.Reservation;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import java.nio.charset.Charset;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Reads the bodies of requests, up to a limit, and counts them in the {@link MemoryBudget} from the first byte on. An operation
 * asks for the body once the caller is known.
 */
@ApplicationScoped
public class RequestBodies {

    /**
     * One in the parts, one in the whole body, one in the texts of its records (two if not Latin-1), one on its way to the
     * database.
     */
    static final int BYTES_HELD_PER_BYTE = 4;

    /** For a whole body, except NDJSON: the largest one by default needs 140 KB/s. */
    private static final Duration TIME = Duration.ofMinutes(2);

    private static final int MAX_COMMAND_BYTES = 65_536;

    private static final int STEP_BYTES = 65_536;

    public static final MediaType JSON = MediaType.APPLICATION_JSON_TYPE.withCharset("utf-8");

    private static final String SEND_JSON = "Send JSON in UTF-8, with the header Content-Type: application/json.";

    private final MemoryBudget memory;
    private final BodyWatch watch;
    private final BodyConfig config;
    private final Vertx vertx;

    RequestBodies(MemoryBudget memory, BodyWatch watch, BodyConfig config, Vertx vertx) {
        this.memory = memory;
        this.watch = watch;
        this.config = config;
        this.vertx = vertx;
    }

    /** Reads JSON without records, of at most 64 KiB. See {@link #read}. */
    public <T> Uni<T> readCommand(HttpServerRequest request, Object caller, Function<byte[], Uni<T>> answer) {
        return readCommand(request, MAX_COMMAND_BYTES, caller, answer);
    }

    /** Reads JSON without records. See {@link #read}. */
    public <T> Uni<T> readCommand(
            HttpServerRequest request, int maxBytes, Object caller, Function<byte[], Uni<T>> answer) {
        return read(request, JSON, SEND_JSON, maxBytes, caller, answer);
    }

    /**
     * Holds the memory of the body until the answer is made.
     *
     * @param type a wildcard accepts any, and none
     * @param otherwise the advice if the type is another one
     * @param caller the owner of the memory, such as a project's id
     * @return fails with {@code unsupported-media-type}, {@code body-too-large} as soon as the limit is exceeded,
     *     {@code overloaded} without memory, {@code body-too-slow} or {@code malformed-encoding}
     */
    public <T> Uni<T> read(
            HttpServerRequest request,
            MediaType type,
            String otherwise,
            int maxBytes,
            Object caller,
            Function<byte[], Uni<T>> answer) {
        if (!type.isWildcardType()) {
            requireType(request, List.of(type), otherwise);
        }
        BodyParts parts = parts(request);
        // With a small heap a caller may have less memory than the largest body needs.
        int most = (int) Math.min(maxBytes, memory.holderLimit() / BYTES_HELD_PER_BYTE);
        String length = request.getHeader(HttpHeaders.CONTENT_LENGTH);
        Whole whole =
                new Whole(parts, most, new BodyMemory(memory, caller, most), length != null && !parts.arePacked());
        if (length != null && Long.parseLong(length) > most) {
            parts.drop();
            throw whole.tooLarge();
        }
        parts.timeLimit(TIME);
        parts.read(whole::add, whole::end, whole.body::completeExceptionally);
        return Uni.createFrom()
                .completionStage(whole.body)
                .chain(answer::apply)
                .onTermination()
                .invoke(whole.held::close);
    }

    public BodyParts parts(HttpServerRequest request) {
        return new BodyParts(request, vertx.getOrCreateContext(), watch, config);
    }

    /**
     * The memory of a body that streams in: at most {@code most} bytes of it are held at a time.
     *
     * @param most the bytes held at a time
     */
    public BodyMemory memory(Object caller, long most) {
        return new BodyMemory(memory, caller, most);
    }

    /** Takes memory in steps as the body arrives. */
    public static final class BodyMemory implements AutoCloseable {
        private final MemoryBudget memory;
        private final Object caller;
        private final long most;
        private long covered;
        private @Nullable Reservation reservation;
        private boolean closed;

        BodyMemory(MemoryBudget memory, Object caller, long most) {
            this.memory = memory;
            this.caller = caller;
            this.most = most;
        }

        public synchronized boolean cover(long bytes) {
            if (covered >= Math.min(bytes, most)) {
                return true;
            }
            if (closed) {
                return false;
            }
            // Small bodies take exactly their size, large ones a few steps.
            long step = Math.min(most - covered, covered == 0 ? bytes : Math.max(bytes - covered, STEP_BYTES));
            boolean taken = reservation == null ? reserve(step) : reservation.tryGrow(step * BYTES_HELD_PER_BYTE);
            covered += taken ? step : 0;
            return taken;
        }

        private boolean reserve(long step) {
            reservation = memory.tryReserve(caller, step * BYTES_HELD_PER_BYTE);
            return reservation != null;
        }

        @Override
        public synchronized void close() {
            closed = true;
            if (reservation != null) {
                reservation.close();
            }
        }
    }

    private static final class Whole {
        final CompletableFuture<byte[]> body = new CompletableFuture<>();
        final BodyMemory held;
        private final BodyParts parts;
        private final int maxBytes;
        private final boolean fits;
        private final List<Buffer> gathered = new ArrayList<>(1);
        private int length;
        /** There was no memory for the body. Its bytes are only counted. */
        private boolean dropped;

        /** @param fits whether the body is known to have at most {@code maxBytes} */
        Whole(BodyParts parts, int maxBytes, BodyMemory held, boolean fits) {
            this.parts = parts;
            this.maxBytes = maxBytes;
            this.held = held;
            this.fits = fits;
        }

        void add(Buffer part) {
            length += part.length();
            if (length > maxBytes) {
                fail(tooLarge());
            } else if (dropped) {
                return;
            } else if (held.cover(length)) {
                gathered.add(part);
            } else if (fits) {
                fail(noMemory());
            } else {
                // A body that is too large must not be sent again: the end tells.
                dropped = true;
                gathered.clear();
                held.close();
            }
        }

        void end() {
            if (dropped) {
                body.completeExceptionally(noMemory());
                return;
            }
            byte[] whole = new byte[length];
            int at = 0;
            for (Buffer part : gathered) {
                part.getBytes(whole, at);
                at += part.length();
            }
            gathered.clear();
            body.complete(whole);
        }

        private void fail(RuntimeException failure) {
            parts.drop();
            gathered.clear();
            body.completeExceptionally(failure);
        }

        ProblemException tooLarge() {
            return new ProblemException(
                    ProblemType.BODY_TOO_LARGE,
                    "The body may have " + maxBytes
                            + " bytes. Send it in several requests, or records as"
                            + " application/x-ndjson to POST /v1/project-logs/import.");
        }
    }

    public static NoMemoryException noMemory() {
        return new NoMemoryException(
                "There is no memory for this body at the moment, or not for another one from this caller. Send it again"
                        + " later, or in smaller requests.");
    }

    /**
     * Stricter than {@code @Consumes}, which accepts a missing type, a wildcard, and any charset.
     *
     * @param wanted the body may not name another charset than these
     * @param otherwise the advice to the client
     * @throws ProblemException {@code unsupported-media-type}
     */
    public static void requireType(HttpServerRequest request, List<MediaType> wanted, String otherwise) {
        String type = request.getHeader(HttpHeaders.CONTENT_TYPE);
        if (type == null || wanted.stream().noneMatch(one -> isAnnounced(type, one))) {
            throw new ProblemException(
                    ProblemType.UNSUPPORTED_MEDIA_TYPE,
                    (type == null
                                    ? "The body has no Content-Type. "
                                    : "The Content-Type of the body is not accepted here. ")
                            + otherwise);
        }
    }

    private static boolean isAnnounced(String contentType, MediaType wanted) {
        try {
            MediaType type = MediaType.valueOf(contentType);
            String charset = type.getParameters().get(MediaType.CHARSET_PARAMETER);
            String only = wanted.getParameters().get(MediaType.CHARSET_PARAMETER);
            return type.getType().equalsIgnoreCase(wanted.getType())
                    && type.getSubtype().equalsIgnoreCase(wanted.getSubtype())
                    && (charset == null
                            || only == null
                            || Charset.forName(charset).equals(Charset.forName(only)));
        } catch (IllegalArgumentException e) {
            return false;
        }
    }
}
