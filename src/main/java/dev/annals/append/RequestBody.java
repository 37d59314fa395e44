package dev.annals.append;

import dev.annals.problem.ProblemException;
import dev.annals.problem.ProblemType;
import io.smallrye.mutiny.Uni;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.core.HttpHeaders;
import java.util.concurrent.CompletableFuture;

/** Reads the body of a request into memory, up to a limit. */
public final class RequestBody {

    private RequestBody() {}

    /**
     * Reads the whole body.
     *
     * @return fails with {@code body-too-large} as soon as the limit is passed
     */
    public static Uni<byte[]> read(HttpServerRequest request, int maxBytes) {
        CompletableFuture<byte[]> body = new CompletableFuture<>();
        String length = request.getHeader(HttpHeaders.CONTENT_LENGTH);
        if (length != null && Long.parseLong(length) > maxBytes) {
            throw tooLarge(maxBytes);
        }
        Buffer gathered = Buffer.buffer();
        request.exceptionHandler(body::completeExceptionally);
        request.endHandler(end -> body.complete(gathered.getBytes()));
        request.handler(part -> {
            if (gathered.length() + part.length() > maxBytes) {
                // What still comes is dropped as it arrives.
                request.handler(rest -> {});
                body.completeExceptionally(tooLarge(maxBytes));
            } else {
                gathered.appendBuffer(part);
            }
        });
        request.resume();
        return Uni.createFrom().completionStage(body);
    }

    private static ProblemException tooLarge(int maxBytes) {
        return new ProblemException(
                ProblemType.BODY_TOO_LARGE,
                "The body may have " + maxBytes + " bytes. Send it in several requests, or as application/x-ndjson.");
    }
}
