package dev.annals.edges.delivery;

import dev.annals.access.caller.Actor;
import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.core.feed.Cursor;
import dev.annals.core.feed.FeedQuery;
import dev.annals.core.record.RecordEncoder.EncodedRecord;
import dev.annals.kernel.guid.CanonicalGuid;
import dev.annals.kernel.http.Bulkhead;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.RequestBodies;
import dev.annals.kernel.http.RequestParameters;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.DELETE;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.PUT;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.MultivaluedMap;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Streams over HTTP, at {@code /v1/streams}. */
@Path("/v1/streams")
@Produces(MediaType.APPLICATION_JSON)
public class StreamResource {

    private static final Pattern NUMBER = Pattern.compile("[0-9]{1,18}");
    private static final int SIZE = 1_024;
    private static final int DEAD_LETTER_SIZE = 256;
    private static final int FEED_SIZE = 512;
    private static final String PROJECT_ID = "project_id";
    private static final String AFTER = "after";
    private static final String LIMIT = "limit";
    private static final int DEFAULT_LIMIT = 50;
    private static final int MAX_LIMIT = 200;
    private static final int TESTS = 2;
    private static final int WAITING_TESTS = 16;
    private static final Duration TEST_WAIT = Duration.ofSeconds(60);

    private final StreamStore streams;
    private final StreamSchedulers schedulers;
    private final RequestBodies bodies;
    /** A test connects to a sink and waits for it. */
    private final Bulkhead tests =
            new Bulkhead(TESTS, WAITING_TESTS, TEST_WAIT, "Too many sinks are tested: try again.");

    StreamResource(StreamStore streams, StreamSchedulers schedulers, RequestBodies bodies) {
        this.streams = streams;
        this.schedulers = schedulers;
        this.bodies = bodies;
    }

    @GET
    @Requires(Scope.DELIVER)
    public Uni<Response> listStreams(@Context ContainerRequestContext request) {
        return streams.list(Caller.of(request))
                .map(found -> JsonBody.answer("streams", SIZE, found, NamedStream::write));
    }

    @PUT
    @Path("/{name}")
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires(Scope.DELIVER)
    public Uni<Response> setStream(
            @PathParam("name") String name, @Context HttpServerRequest http, @Context ContainerRequestContext request) {
        RequestParameters.requireName(name);
        Caller caller = Caller.of(request);
        return bodies.readCommand(
                        http,
                        caller.projectId(),
                        body -> streams.set(caller, name, StreamRequest.read(body), Actor.of(request)))
                .map(defined -> JsonBody.answer(
                        defined.created() ? Response.Status.CREATED : Response.Status.OK,
                        SIZE,
                        defined.stream()::write));
    }

    @GET
    @Path("/{name}")
    @Requires(Scope.DELIVER)
    public Uni<Response> getStream(@PathParam("name") String name, @Context ContainerRequestContext request) {
        RequestParameters.requireName(name);
        return streams.find(Caller.of(request), name).map(StreamResource::answer);
    }

    @DELETE
    @Path("/{name}")
    @Requires(Scope.DELIVER)
    public Uni<Response> deleteStream(@PathParam("name") String name, @Context ContainerRequestContext request) {
        RequestParameters.requireName(name);
        return streams.delete(Caller.of(request).projectId(), name, Actor.of(request))
                .map(deleted -> Response.noContent().build());
    }

    @POST
    @Path("/{name}/pause")
    @Requires(Scope.DELIVER)
    public Uni<Response> pauseStream(@PathParam("name") String name, @Context ContainerRequestContext request) {
        RequestParameters.requireName(name);
        return streams.pause(Caller.of(request).projectId(), name, Actor.of(request))
                .map(StreamResource::answer);
    }

    @POST
    @Path("/{name}/resume")
    @Requires(Scope.DELIVER)
    public Uni<Response> resumeStream(@PathParam("name") String name, @Context ContainerRequestContext request) {
        RequestParameters.requireName(name);
        return streams.resume(Caller.of(request).projectId(), name, Actor.of(request))
                .map(StreamResource::answer);
    }

    @POST
    @Path("/{name}/rewind")
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires(Scope.DELIVER)
    public Uni<Response> rewindStream(
            @PathParam("name") String name, @Context HttpServerRequest http, @Context ContainerRequestContext request) {
        RequestParameters.requireName(name);
        UUID projectId = Caller.of(request).projectId();
        return bodies.readCommand(http, projectId, body -> {
                    StreamRequest.Rewind to = StreamRequest.readRewind(body);
                    return streams.rewind(projectId, name, to, Actor.of(request));
                })
                .map(StreamResource::answer);
    }

    /** Sends the next record to the sink, or nothing if none waits, and shows the sink's answer. */
    @POST
    @Path("/{name}/test")
    @Requires(Scope.DELIVER)
    public Uni<Response> testStream(@PathParam("name") String name, @Context ContainerRequestContext request) {
        RequestParameters.requireName(name);
        return streams.find(Caller.of(request), name).chain(stream -> tests.run(() -> test(stream)));
    }

    private Uni<Response> test(NamedStream stream) {
        StreamScheduler scheduler = schedulers.of(stream.ownerId());
        Sink sink;
        try {
            sink = scheduler.open(stream);
        } catch (SinkSecrets.UnreadableSecretException | Targets.RefusedTargetException e) {
            return Uni.createFrom().item(tested("failed", String.valueOf(e.getMessage()), null));
        }
        Cursor at = stream.progress().cursor();
        FeedQuery query = scheduler.query(stream).withLimit(1);
        return scheduler
                .withPage(
                        stream,
                        at.equals(Cursor.START) ? query : query.from(at),
                        page -> scheduler
                                .onServiceLoop(sink.test(new Sink.Batch(stream, page.records(), at, page.pollMore())))
                                .map(outcome -> tested(
                                        outcome,
                                        page.records().isEmpty()
                                                ? null
                                                : page.records().get(0))))
                .onTermination()
                .invoke(sink::close);
    }

    private static Response tested(Sink.Outcome outcome, @Nullable EncodedRecord record) {
        Long sequenceId = record == null ? null : record.sequenceId();
        if (outcome instanceof Sink.Outcome.Delivered delivered) {
            return tested("delivered", delivered.answer(), sequenceId);
        } else if (outcome instanceof Sink.Outcome.Failed failed) {
            return tested("failed", failed.why(), sequenceId);
        } else if (outcome instanceof Sink.Outcome.Refused refused) {
            return tested("refused", refused.why(), sequenceId);
        }
        return tested("failed", "An instance is delivering the stream: try again.", sequenceId);
    }

    private static Response tested(String outcome, String answer, @Nullable Long sequenceId) {
        return JsonBody.answer(Response.Status.OK, SIZE, json -> {
            json.writeStartObject();
            json.writeStringField("outcome", outcome);
            json.writeStringField("answer", answer);
            json.writeFieldName("sequence_id");
            if (sequenceId == null) {
                json.writeNull();
            } else {
                json.writeNumber(sequenceId);
            }
            json.writeEndObject();
        });
    }

    /** In the order of the feed. */
    @GET
    @Path("/{name}/dead-letters")
    @Requires(Scope.DELIVER)
    public Uni<Response> listDeadLetters(
            @PathParam("name") String name, @Context UriInfo uri, @Context ContainerRequestContext request) {
        RequestParameters.requireName(name);
        MultivaluedMap<String, String> parameters = uri.getQueryParameters();
        RequestParameters.requireKnown(parameters, List.of(PROJECT_ID, AFTER, LIMIT));
        long after = number(parameters, AFTER, 0, Long.MAX_VALUE, 0);
        int limit = limit(parameters);
        Caller caller = Caller.of(request);
        UUID feed = Optional.ofNullable(guid(parameters, PROJECT_ID)).orElse(caller.projectId());
        return streams.deadLetters(caller, name, feed, after, limit + 1).map(found -> deadLetters(found, limit));
    }

    /** Ordered by project id. */
    @GET
    @Path("/{name}/feeds")
    @Requires(Scope.DELIVER)
    public Uni<Response> listStreamFeeds(
            @PathParam("name") String name, @Context UriInfo uri, @Context ContainerRequestContext request) {
        RequestParameters.requireName(name);
        MultivaluedMap<String, String> parameters = uri.getQueryParameters();
        RequestParameters.requireKnown(parameters, List.of(AFTER, LIMIT));
        int limit = limit(parameters);
        return streams.feeds(Caller.of(request), name, guid(parameters, AFTER), limit + 1)
                .map(found -> feeds(found, limit));
    }

    private static Response feeds(List<NamedStream> found, int limit) {
        List<NamedStream> shown = found.subList(0, Math.min(limit, found.size()));
        return JsonBody.answer(Response.Status.OK, FEED_SIZE * (1 + shown.size()), json -> {
            json.writeStartObject();
            json.writeArrayFieldStart("feeds");
            for (NamedStream stream : shown) {
                stream.writeFeed(json);
            }
            json.writeEndArray();
            json.writeStringField(
                    "next",
                    found.size() > limit ? shown.get(limit - 1).projectId().toString() : null);
            json.writeEndObject();
        });
    }

    private static int limit(MultivaluedMap<String, String> parameters) {
        return (int) number(parameters, LIMIT, 1, MAX_LIMIT, DEFAULT_LIMIT);
    }

    private static @Nullable UUID guid(MultivaluedMap<String, String> parameters, String name) {
        String text = parameters.getFirst(name);
        UUID guid = text == null ? null : CanonicalGuid.parse(text);
        if (text != null && guid == null) {
            throw RequestParameters.invalid(name, "It must be the id of a project.");
        }
        return guid;
    }

    private static Response deadLetters(List<StreamStore.DeadLetter> found, int limit) {
        List<StreamStore.DeadLetter> shown = found.subList(0, Math.min(limit, found.size()));
        return JsonBody.answer(Response.Status.OK, DEAD_LETTER_SIZE * (1 + shown.size()), json -> {
            json.writeStartObject();
            json.writeArrayFieldStart("dead_letters");
            for (StreamStore.DeadLetter letter : shown) {
                json.writeStartObject();
                json.writeNumberField("sequence_id", letter.sequenceId());
                json.writeStringField("record_id", letter.recordId().toString());
                json.writeStringField("reason", letter.reason());
                json.writeStringField("refused_at", NamedStream.text(letter.refusedAt()));
                json.writeEndObject();
            }
            json.writeEndArray();
            json.writeFieldName("next");
            if (found.size() > limit) {
                json.writeNumber(shown.get(limit - 1).sequenceId());
            } else {
                json.writeNull();
            }
            json.writeEndObject();
        });
    }

    private static long number(
            MultivaluedMap<String, String> parameters, String name, long least, long most, long otherwise) {
        String text = parameters.getFirst(name);
        if (text == null) {
            return otherwise;
        }
        if (!NUMBER.matcher(text).matches() || Long.parseLong(text) < least || Long.parseLong(text) > most) {
            throw RequestParameters.invalid(
                    name,
                    "It must be a whole number of " + least + " or more" + (most == MAX_LIMIT ? ", up to " + most : "")
                            + ".");
        }
        return Long.parseLong(text);
    }

    private static Response answer(NamedStream stream) {
        return JsonBody.answer(Response.Status.OK, SIZE, stream::write);
    }
}
