package dev.annals.core.feed;

import dev.annals.core.record.RecordEncoder;
import dev.annals.core.record.StoredRecord;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.PacedBody;
import dev.annals.kernel.memory.MemoryBudget;
import dev.annals.kernel.memory.Reservation;
import dev.annals.kernel.quarantine.ClientConnection;
import io.netty.buffer.Unpooled;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Writes answers that contain records, each within its project's share of memory. */
@ApplicationScoped
public class PageAnswers {

    private static final byte[] RESULTS = ",\"results\":[".getBytes(StandardCharsets.US_ASCII);

    private final FeedLinks links;
    private final MemoryBudget memory;
    private final FeedConfig config;

    PageAnswers(FeedLinks links, MemoryBudget memory, FeedConfig config) {
        this.links = links;
        this.memory = memory;
        this.config = config;
    }

    /** Waits for this many bytes of the project's memory. The answer takes them over. */
    public Uni<Response> within(UUID projectId, long bytes, Function<Reservation, Uni<Response>> answer) {
        return memory.take(projectId, bytes)
                .chain(held -> Uni.createFrom()
                        .deferred(() -> answer.apply(held))
                        .onFailure()
                        .invoke(held::close)
                        .onCancellation()
                        .invoke(held::close));
    }

    /** The links are in the body and in the header {@code Link}. */
    public Response page(HttpServerRequest http, UriInfo uri, FeedQuery query, FeedPage page, Reservation held) {
        return page(http, uri, query, page, json -> {}, held);
    }

    /**
     * Answers with a page and its links, which are in the body and in the header {@code Link}.
     *
     * @param members writes more members into the open object
     */
    public Response page(
            HttpServerRequest http,
            UriInfo uri,
            FeedQuery query,
            FeedPage page,
            JsonBody.Content members,
            Reservation held) {
        String base = links.base(http);
        String next = FeedLinks.next(base, uri, query, page);
        String pollMore = FeedLinks.pollMore(base, uri, page);
        StringBuilder link = new StringBuilder();
        if (next != null) {
            link.append('<').append(next).append(">; rel=\"next\", ");
        }
        link.append('<').append(pollMore).append(">; rel=\"poll-more\"");
        return ok(http, json(next, pollMore, members, page), MediaType.APPLICATION_JSON, held)
                .header(HttpHeaders.LINK, link)
                .build();
    }

    Response record(HttpServerRequest http, StoredRecord record, Reservation held) {
        return ok(http, RecordEncoder.toBytes(record), MediaType.APPLICATION_JSON, held)
                .build();
    }

    public Response body(HttpServerRequest http, byte[] body, String mediaType, Reservation held) {
        return ok(http, body, mediaType, held).build();
    }

    private Response.ResponseBuilder ok(HttpServerRequest http, byte[] body, String mediaType, Reservation held) {
        if (http.method().equals(HttpMethod.HEAD)) {
            // The framework drops the entity of a HEAD without starting it, so its memory is released here.
            held.close();
            return Response.ok().type(mediaType).header(HttpHeaders.CONTENT_LENGTH, body.length);
        }
        return Response.ok(new PacedAnswer(http, body, held, config.idle())).type(mediaType);
    }

    private static byte[] json(@Nullable String next, String pollMore, JsonBody.Content members, FeedPage page) {
        byte[] links = JsonBody.toBytes(512, json -> {
            json.writeStartObject();
            json.writeStringField("next", next);
            json.writeStringField("poll_more", pollMore);
            if (page.searched() != null) {
                json.writeObjectFieldStart("search");
                json.writeNumberField("from", page.searched().from());
                json.writeNumberField("through", page.searched().through());
                json.writeNumberField("indexed_through", page.searched().indexedThrough());
                json.writeEndObject();
            }
            members.write(json);
            json.writeEndObject();
        });
        // The records are already JSON. They replace the brace that ends the links.
        int commas = Math.max(0, page.records().size() - 1);
        int size = Math.toIntExact(links.length + RESULTS.length + page.bytes() + commas + 1);
        ByteBuffer json =
                ByteBuffer.allocate(size).put(links, 0, links.length - 1).put(RESULTS);
        for (int i = 0; i < page.records().size(); i++) {
            if (i > 0) {
                json.put((byte) ',');
            }
            page.records().get(i).appendTo(json);
        }
        return json.put((byte) ']').put((byte) '}').array();
    }

    /**
     * Writes a body at the client's pace, on the connection's event loop. It releases the memory when the connection has taken all
     * of the body, and drops a client that reads nothing for too long.
     */
    private static final class PacedAnswer implements PacedBody {

        private static final int PIECE_BYTES = 64 * 1024;

        private final HttpServerRequest request;
        private final Buffer body;
        private final Reservation held;
        private final Duration idle;
        private boolean ended;
        private int written;

        /** Takes the memory over. */
        @SuppressWarnings("deprecation") // every other way to make a Buffer copies the page
        PacedAnswer(HttpServerRequest request, byte[] body, Reservation held, Duration idle) {
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
}
