package dev.annals.feed;

import dev.annals.problem.ProblemException;
import dev.annals.problem.ProblemType;
import dev.annals.project.Caller;
import dev.annals.project.Requires;
import dev.annals.record.RecordJson;
import dev.annals.record.RecordWriter;
import dev.annals.record.StoredRecord;
import io.smallrye.mutiny.Uni;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Reading over HTTP: {@code GET /v1/project-logs} and {@code GET /v1/project-logs/{id}}. */
@Path(FeedLinks.PATH)
@Produces(MediaType.APPLICATION_JSON)
public class FeedResource {

    /** About what a record takes; a first guess at a page's size. */
    private static final int RECORD_BYTES = 600;

    private final FeedReader reader;
    private final FeedLinks links;
    private final FeedConfig config;

    FeedResource(FeedReader reader, FeedLinks links, FeedConfig config) {
        this.reader = reader;
        this.links = links;
        this.config = config;
    }

    /** A page of the feed of the token's project. */
    @GET
    @Requires.Read
    public Uni<Response> list(@Context UriInfo uri, @Context ContainerRequestContext request) {
        UUID projectId = Caller.of(request).projectId();
        FeedQuery query = FeedParameters.read(uri.getQueryParameters(), config);
        return reader.read(projectId, query).map(page -> answer(uri, query, page));
    }

    /** One record of the token's project. */
    @GET
    @Path("/{id}")
    @Requires.Read
    public Uni<Response> get(@PathParam("id") String id, @Context ContainerRequestContext request) {
        UUID projectId = Caller.of(request).projectId();
        UUID recordId = parseId(id);
        return reader.find(projectId, recordId).map(record -> {
            if (record == null) {
                throw noSuchRecord();
            }
            return Response.ok(RecordJson.of(record)).build();
        });
    }

    private static UUID parseId(String id) {
        try {
            // UUID.fromString is lenient: "1-1-1-1-1" would be another record's id.
            UUID parsed = UUID.fromString(id);
            if (parsed.toString().equalsIgnoreCase(id)) {
                return parsed;
            }
        } catch (IllegalArgumentException e) {
            // answered below
        }
        throw noSuchRecord();
    }

    private static ProblemException noSuchRecord() {
        return new ProblemException(ProblemType.NOT_FOUND, "The project of this token has no record with this id.");
    }

    private Response answer(UriInfo uri, FeedQuery query, FeedPage page) {
        String next = links.next(uri, query, page);
        String pollMore = links.pollMore(uri, page);
        StringBuilder link = new StringBuilder();
        if (next != null) {
            link.append('<').append(next).append(">; rel=\"next\", ");
        }
        link.append('<').append(pollMore).append(">; rel=\"poll-more\"");
        return Response.ok(json(next, pollMore, page))
                .header(HttpHeaders.LINK, link)
                .header(HttpHeaders.CACHE_CONTROL, "no-store")
                .build();
    }

    private static byte[] json(@Nullable String next, String pollMore, FeedPage page) {
        return RecordJson.toBytes(512 + page.records().size() * RECORD_BYTES, json -> {
            json.writeStartObject();
            json.writeStringField("next", next);
            json.writeStringField("poll_more", pollMore);
            json.writeArrayFieldStart("results");
            for (StoredRecord record : page.records()) {
                RecordWriter.write(record, json);
            }
            json.writeEndArray();
            json.writeEndObject();
        });
    }
}
