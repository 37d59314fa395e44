package dev.annals.core.feed;

import dev.annals.core.record.RecordEncoder;
import dev.annals.core.record.StoredRecord;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.memory.MemoryBudget;
import dev.annals.kernel.memory.Reservation;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Makes the answers that contain records, each within its project's share of memory. */
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

    /** Makes an answer within this many bytes of the project's memory, which the answer takes over. */
    public Uni<Response> within(UUID projectId, long bytes, Function<Reservation, Uni<Response>> answer) {
        return memory.take(projectId, bytes)
                .chain(held -> Uni.createFrom()
                        .deferred(() -> answer.apply(held))
                        .onFailure()
                        .invoke(held::close)
                        .onCancellation()
                        .invoke(held::close));
    }

    /** A page with its links, in the body and in the header {@code Link}. */
    public Response page(HttpServerRequest http, UriInfo uri, FeedQuery query, FeedPage page, Reservation held) {
        return page(http, uri, query, page, json -> {}, held);
    }

    /**
     * The same with more members.
     *
     * @param members writes them into the open object
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

    /** Any other body. */
    public Response body(HttpServerRequest http, byte[] body, String mediaType, Reservation held) {
        return ok(http, body, mediaType, held).build();
    }

    private Response.ResponseBuilder ok(HttpServerRequest http, byte[] body, String mediaType, Reservation held) {
        if (http.method().equals(HttpMethod.HEAD)) {
            // The framework drops the entity of a HEAD, and nothing would release its memory.
            held.close();
            return Response.ok().type(mediaType).header(HttpHeaders.CONTENT_LENGTH, body.length);
        }
        return Response.ok(new PageAnswer(http, body, held, config.idle())).type(mediaType);
    }

    private static byte[] json(@Nullable String next, String pollMore, JsonBody.Content members, FeedPage page) {
        byte[] links = JsonBody.toBytes(512, json -> {
            json.writeStartObject();
            json.writeStringField("next", next);
            json.writeStringField("poll_more", pollMore);
            members.write(json);
            json.writeEndObject();
        });
        // The records are JSON already. They come before the brace that ends the links.
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
}
