package dev.annals.append;

import dev.annals.problem.Problem;
import dev.annals.problem.ProblemException;
import dev.annals.problem.ProblemType;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.MultivaluedMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** Reads the JSON body of a request into memory, up to a limit. */
public final class RequestBody {

    /** How long a client may go on sending what is not wanted. */
    private static final long LINGER_MILLIS = 5_000;

    private RequestBody() {}

    /**
     * Reads the whole body.
     *
     * @return fails with {@code unsupported-media-type} where the body is not announced as JSON in UTF-8, with
     *     {@code body-too-large} as soon as the limit is passed
     */
    public static Uni<byte[]> read(HttpServerRequest request, int maxBytes) {
        requireJson(request);
        CompletableFuture<byte[]> body = new CompletableFuture<>();
        String length = request.getHeader(HttpHeaders.CONTENT_LENGTH);
        if (length != null && Long.parseLong(length) > maxBytes) {
            drop(request);
            throw tooLarge(maxBytes);
        }
        Buffer gathered = Buffer.buffer();
        request.exceptionHandler(body::completeExceptionally);
        request.endHandler(end -> body.complete(gathered.getBytes()));
        request.handler(part -> {
            if (gathered.length() + part.length() > maxBytes) {
                drop(request);
                body.completeExceptionally(tooLarge(maxBytes));
            } else {
                gathered.appendBuffer(part);
            }
        });
        request.resume();
        return Uni.createFrom().completionStage(body);
    }

    /**
     * Drops what still comes of a body: a client that is cut off while it sends may never see the answer. One that goes
     * on for long loses its connection.
     */
    private static void drop(HttpServerRequest request) {
        request.handler(part -> {});
        request.resume();
        Vertx.currentContext().owner().setTimer(LINGER_MILLIS, timer -> {
            if (!request.isEnded()) {
                request.connection().close();
            }
        });
    }

    // @Consumes lets pass what has no media type, a wildcard, or any charset and encoding.
    private static void requireJson(HttpServerRequest request) {
        String type = request.getHeader(HttpHeaders.CONTENT_TYPE);
        if (type == null || !isJsonInUtf8(type)) {
            throw new ProblemException(
                    ProblemType.UNSUPPORTED_MEDIA_TYPE,
                    (type == null ? "The body has no Content-Type." : "The Content-Type of the body is not read here.")
                            + " Send JSON in UTF-8, with the header Content-Type: application/json.");
        }
        requireNoEncoding(request);
    }

    /**
     * Checks the parameters of an append.
     *
     * @throws ProblemException {@code invalid-parameter} for any but {@code atomic=false}: what streams in cannot be
     *     stored whole or not at all, and everything else is
     */
    static void requireNoParameters(MultivaluedMap<String, String> parameters) {
        for (Map.Entry<String, List<String>> parameter : parameters.entrySet()) {
            if (!parameter.getKey().equals("atomic") || !parameter.getValue().equals(List.of("false"))) {
                throw new ProblemException(Problem.of(
                                ProblemType.INVALID_PARAMETER,
                                "The only parameter is atomic=false, for NDJSON, which is the default: lines are stored"
                                        + " as they come. Send an array for all or nothing.")
                        .with("parameter", parameter.getKey()));
            }
        }
    }

    /** @throws ProblemException {@code unsupported-media-type} for an encoding that is not read here */
    static void requireNoEncoding(HttpServerRequest request) {
        String encoding = request.getHeader(HttpHeaders.CONTENT_ENCODING);
        if (encoding != null && !encoding.strip().equalsIgnoreCase("identity")) {
            throw new ProblemException(
                    ProblemType.UNSUPPORTED_MEDIA_TYPE,
                    "This Content-Encoding is not read here. Send the body as it is, or with gzip.");
        }
    }

    private static boolean isJsonInUtf8(String contentType) {
        try {
            MediaType type = MediaType.valueOf(contentType);
            String charset = type.getParameters().get(MediaType.CHARSET_PARAMETER);
            return type.getType().equalsIgnoreCase("application")
                    && type.getSubtype().equalsIgnoreCase("json")
                    && (charset == null || charset.equalsIgnoreCase("utf-8"));
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    private static ProblemException tooLarge(int maxBytes) {
        return new ProblemException(
                ProblemType.BODY_TOO_LARGE,
                "The body may have " + maxBytes + " bytes. Send it in several requests, or as application/x-ndjson.");
    }
}
