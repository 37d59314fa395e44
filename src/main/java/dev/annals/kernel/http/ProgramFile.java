package dev.annals.kernel.http;

import io.netty.buffer.Unpooled;
import io.vertx.core.Context;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import jakarta.ws.rs.core.HttpHeaders;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Objects;

/** A file of the program. All clients share one copy in memory. */
public final class ProgramFile {

    private static final int TAG_BYTES = 16;

    private final Buffer content;
    private final String tag;
    private final String mediaType;

    /**
     * Reads the file.
     *
     * @param path on the class path, with a slash first
     */
    @SuppressWarnings("deprecation") // every other way to make a Buffer copies the file for each answer
    public ProgramFile(String path, String mediaType) {
        try (InputStream file = Objects.requireNonNull(ProgramFile.class.getResourceAsStream(path), path)) {
            byte[] bytes = file.readAllBytes();
            byte[] hash = MessageDigest.getInstance("SHA-256").digest(bytes);
            // Outside the heap: the network would copy anything else there for each client. The connection's guard does
            // not
            // count read-only buffers.
            content = Buffer.buffer(
                    Unpooled.directBuffer(bytes.length).writeBytes(bytes).asReadOnly());
            tag = '"' + HexFormat.of().formatHex(hash, 0, TAG_BYTES) + '"';
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + path, e);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
        this.mediaType = mediaType;
    }

    /** Answers {@code 304} if the client has this version. */
    public void answer(HttpServerRequest request) {
        HttpServerResponse response = request.response();
        response.putHeader(HttpHeaders.ETAG, tag);
        String known = request.getHeader(HttpHeaders.IF_NONE_MATCH);
        // A compressing proxy makes the tag weak, and a client may know several.
        if (known != null && (known.contains(tag) || known.strip().equals("*"))) {
            response.setStatusCode(304).end();
            return;
        }
        response.putHeader(HttpHeaders.CONTENT_TYPE, mediaType);
        response.putHeader(HttpHeaders.CONTENT_LENGTH, Integer.toString(content.length()));
        if (request.method().equals(HttpMethod.HEAD)) {
            response.end();
        } else {
            response.end(content);
        }
    }

    public PacedBody answerOf(HttpServerRequest request) {
        return new PacedBody() {
            @Override
            public void start(Context eventLoop) {
                answer(request);
            }

            @Override
            public void stop() {}
        };
    }
}
