package dev.annals.feed;

import dev.annals.feed.FeedQuery.Order;
import dev.annals.problem.ProblemException;
import dev.annals.problem.ProblemType;
import dev.annals.problem.RequestParameters;
import dev.annals.project.Caller;
import dev.annals.project.Requires;
import dev.annals.record.RecordJson;
import dev.annals.record.RecordWriter;
import dev.annals.record.StoredRecord;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.HeaderParam;
import jakarta.ws.rs.NotAcceptableException;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Reading over HTTP: {@code GET /v1/project-logs} and {@code GET /v1/project-logs/{id}}. */
@Path(FeedLinks.PATH)
@Produces(MediaType.APPLICATION_JSON)
public class FeedResource {

    /** About what a record takes; a first guess at a page's size. */
    private static final int RECORD_BYTES = 600;

    private final FeedReader reader;
    private final LiveFeed live;
    private final FeedLinks links;
    private final FeedConfig config;

    FeedResource(FeedReader reader, LiveFeed live, FeedLinks links, FeedConfig config) {
        this.reader = reader;
        this.live = live;
        this.links = links;
        this.config = config;
    }

    /** A page of the feed of the token's project: at once, or when there is a record for it. */
    @GET
    @Requires.Read
    public Uni<Response> list(
            @Context UriInfo uri, @Context HttpHeaders headers, @Context ContainerRequestContext request) {
        requireJsonAccepted(headers);
        UUID projectId = Caller.of(request).projectId();
        FeedQuery query = FeedParameters.read(uri.getQueryParameters(), config);
        Wait wait = Wait.of(uri.getQueryParameters(), headers.getRequestHeader("Prefer"), query.order());
        Uni<FeedPage> page =
                wait.isNone() ? reader.read(projectId, query) : live.poll(projectId, query, wait.duration());
        return page.map(read -> answer(uri, query, wait, read));
    }

    /** Of two methods with a media type each, the framework takes the first where none of them is accepted. */
    private static void requireJsonAccepted(HttpHeaders headers) {
        if (headers.getAcceptableMediaTypes().stream().noneMatch(MediaType.APPLICATION_JSON_TYPE::isCompatible)) {
            throw new NotAcceptableException();
        }
    }

    /** The feed of the token's project as Server-Sent Events, which go on for as long as the client listens. */
    @GET
    @Produces(MediaType.SERVER_SENT_EVENTS)
    @Requires.Read
    public Uni<Response> stream(
            @Context HttpServerRequest http,
            @Context UriInfo uri,
            @HeaderParam(HttpHeaders.LAST_EVENT_ID_HEADER) @Nullable String lastEventId,
            @Context ContainerRequestContext request) {
        UUID projectId = Caller.of(request).projectId();
        FeedQuery query = FeedParameters.read(uri.getQueryParameters(), config);
        // The link poll_more may carry it: a stream waits anyway.
        Wait.of(uri.getQueryParameters(), List.of(), query.order());
        if (query.order() == Order.DESCENDING) {
            throw RequestParameters.invalid(
                    FeedParameters.ORDER,
                    "A stream has the oldest record first. To begin at the end, open the link poll_more of a page.");
        }
        if (lastEventId != null && !lastEventId.isEmpty()) {
            query = new FeedQuery(
                    query.order(), FeedParameters.cursor(lastEventId), null, query.limit(), query.filter());
        }
        if (http.method().equals(HttpMethod.HEAD)) {
            return Uni.createFrom()
                    .item(Response.ok().type(MediaType.SERVER_SENT_EVENTS).build());
        }
        return live.stream(projectId, query, http);
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

    private Response answer(UriInfo uri, FeedQuery query, Wait wait, FeedPage page) {
        String next = links.next(uri, query, page);
        String pollMore = links.pollMore(uri, page);
        StringBuilder link = new StringBuilder();
        if (next != null) {
            link.append('<').append(next).append(">; rel=\"next\", ");
        }
        link.append('<').append(pollMore).append(">; rel=\"poll-more\"");
        Response.ResponseBuilder answer = Response.ok(json(next, pollMore, page))
                .header(HttpHeaders.LINK, link)
                .header(HttpHeaders.CACHE_CONTROL, "no-store");
        if (wait.preferred()) {
            answer.header("Preference-Applied", "wait=" + wait.duration().toSeconds());
        }
        return answer.build();
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
