package dev.annals.feed;

import dev.annals.feed.FeedQuery.Order;
import dev.annals.http.JsonBody;
import dev.annals.http.ProblemException;
import dev.annals.http.ProblemType;
import dev.annals.http.RequestParameters;
import dev.annals.memory.MemoryBudget;
import dev.annals.memory.Reservation;
import dev.annals.project.Caller;
import dev.annals.project.Requires;
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
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Reading over HTTP: {@code GET /v1/project-logs} and {@code GET /v1/project-logs/{id}}. */
@Path(FeedLinks.PATH)
@Produces(MediaType.APPLICATION_JSON)
public class FeedResource {

    private final FeedReader reader;
    private final LiveFeed live;
    private final FeedLinks links;
    private final MemoryBudget memory;
    private final FeedConfig config;

    FeedResource(FeedReader reader, LiveFeed live, FeedLinks links, MemoryBudget memory, FeedConfig config) {
        this.reader = reader;
        this.live = live;
        this.links = links;
        this.memory = memory;
        this.config = config;
    }

    /** A page of the feed of the token's project: at once, or when there is a record for it. */
    @GET
    @Requires.Read
    public Uni<Response> list(
            @Context HttpServerRequest http,
            @Context UriInfo uri,
            @Context HttpHeaders headers,
            @Context ContainerRequestContext request) {
        requireJsonAccepted(headers);
        UUID projectId = Caller.of(request).projectId();
        FeedQuery query = FeedParameters.read(uri.getQueryParameters(), config);
        Wait wait = Wait.of(uri.getQueryParameters(), headers.getRequestHeader("Prefer"), query.order());
        if (wait.isNone()) {
            return held(
                    projectId,
                    query.memory(),
                    held -> reader.read(projectId, query).map(page -> answer(http, uri, query, wait, page, held)));
        }
        return live.poll(projectId, query, wait.duration())
                .chain(page -> held(
                        projectId,
                        page.jsonAtMost(),
                        held -> Uni.createFrom().item(answer(http, uri, query, wait, page, held))));
    }

    /** Answers within so many bytes of the project's memory, which the answer takes over. */
    private Uni<Response> held(UUID projectId, long bytes, Function<Reservation, Uni<Response>> answer) {
        return memory.take(projectId, bytes)
                .chain(held -> Uni.createFrom()
                        .deferred(() -> answer.apply(held))
                        .onFailure()
                        .invoke(held::close)
                        .onCancellation()
                        .invoke(held::close));
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
            query = query.from(FeedParameters.cursor(lastEventId));
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
    public Uni<Response> get(
            @Context HttpServerRequest http, @PathParam("id") String id, @Context ContainerRequestContext request) {
        UUID projectId = Caller.of(request).projectId();
        UUID recordId = parseId(id);
        return held(
                projectId,
                FeedQuery.LARGEST_RECORD,
                held -> reader.find(projectId, recordId).map(record -> {
                    if (record == null) {
                        throw noSuchRecord();
                    }
                    return ok(http, RecordWriter.toBytes(record), held).build();
                }));
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

    private Response answer(
            HttpServerRequest http, UriInfo uri, FeedQuery query, Wait wait, FeedPage page, Reservation held) {
        String next = links.next(http, uri, query, page);
        String pollMore = links.pollMore(http, uri, page);
        StringBuilder link = new StringBuilder();
        if (next != null) {
            link.append('<').append(next).append(">; rel=\"next\", ");
        }
        link.append('<').append(pollMore).append(">; rel=\"poll-more\"");
        Response.ResponseBuilder answer =
                ok(http, json(next, pollMore, page), held).header(HttpHeaders.LINK, link);
        if (wait.preferred()) {
            answer.header("Preference-Applied", "wait=" + wait.duration().toSeconds());
        }
        return answer.build();
    }

    private Response.ResponseBuilder ok(HttpServerRequest http, byte[] json, Reservation held) {
        if (http.method().equals(HttpMethod.HEAD)) {
            // The framework drops the entity of a HEAD, and nobody would give its memory back.
            held.close();
            return Response.ok().type(MediaType.APPLICATION_JSON).header(HttpHeaders.CONTENT_LENGTH, json.length);
        }
        return Response.ok(new PageAnswer(json, held, config.idle()));
    }

    private static byte[] json(@Nullable String next, String pollMore, FeedPage page) {
        return JsonBody.toBytes(page.expectedBytes(), json -> {
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
