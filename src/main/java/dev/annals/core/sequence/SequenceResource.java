package dev.annals.core.sequence;

import dev.annals.access.caller.Actor;
import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
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
import java.util.List;
import java.util.PrimitiveIterator;
import java.util.UUID;
import java.util.regex.Pattern;

/** Sequences over HTTP: {@code /v1/sequences/{name}} and {@code /v1/sequences/{name}/values}. */
@Path("/v1/sequences/{name}")
@Produces(MediaType.APPLICATION_JSON)
public class SequenceResource {

    private static final Pattern COUNT = Pattern.compile("[0-9]{1,9}");

    private final Sequences sequences;
    private final RequestBodies bodies;

    SequenceResource(Sequences sequences, RequestBodies bodies) {
        this.bodies = bodies;
        this.sequences = sequences;
    }

    @PUT
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires(Scope.SEQUENCE)
    public Uni<Response> defineSequence(
            @PathParam("name") String name, @Context HttpServerRequest http, @Context ContainerRequestContext request) {
        RequestParameters.requireName(name);
        UUID projectId = Caller.of(request).projectId();
        return bodies.readCommand(
                        http,
                        projectId,
                        body -> sequences.define(projectId, name, SequenceRequest.read(body), Actor.of(request)))
                .map(defined -> Response.status(defined.created() ? Response.Status.CREATED : Response.Status.OK)
                        .entity(json(defined.sequence()))
                        .build());
    }

    @GET
    @Requires(Scope.READ)
    public Uni<byte[]> getSequence(@PathParam("name") String name, @Context ContainerRequestContext request) {
        RequestParameters.requireName(name);
        return sequences.find(Caller.of(request).projectId(), name).map(SequenceResource::json);
    }

    @DELETE
    @Requires(Scope.SEQUENCE)
    public Uni<Response> deleteSequence(@PathParam("name") String name, @Context ContainerRequestContext request) {
        RequestParameters.requireName(name);
        return sequences
                .delete(Caller.of(request).projectId(), name, Actor.of(request))
                .map(deleted -> Response.noContent().build());
    }

    @POST
    @Path("/values")
    @Requires(Scope.WRITE)
    public Uni<Response> drawSequenceValues(
            @PathParam("name") String name, @Context UriInfo uri, @Context ContainerRequestContext request) {
        RequestParameters.requireName(name);
        int count = count(uri.getQueryParameters());
        return sequences
                .draw(Caller.of(request).projectId(), name, count)
                .map(block -> Response.ok(json(block)).build());
    }

    private static int count(MultivaluedMap<String, String> parameters) {
        RequestParameters.requireKnown(parameters, List.of("count"));
        String count = parameters.getFirst("count");
        if (count == null) {
            return 1;
        }
        if (COUNT.matcher(count).matches()) {
            int value = Integer.parseInt(count);
            if (value >= 1 && value <= SequenceGenerator.MAX_COUNT) {
                return value;
            }
        }
        throw RequestParameters.invalid("count", "It is a number from 1 to " + SequenceGenerator.MAX_COUNT + ".");
    }

    private static byte[] json(Sequence sequence) {
        Sequence.Definition definition = sequence.definition();
        SequenceKind kind = definition.kind();
        return JsonBody.toBytes(256, json -> {
            json.writeStartObject();
            json.writeStringField("name", sequence.name());
            json.writeStringField("kind", kind.name());
            if (kind != SequenceKind.COMPOSITE) {
                json.writeNumberField("start", definition.start());
            }
            if (kind.hasMaxValue()) {
                json.writeNumberField("max_value", definition.maxValue());
            }
            if (kind.hasBatchSize()) {
                json.writeNumberField("batch_size", definition.batchSize());
            }
            if (kind == SequenceKind.ASYNC_BATCH) {
                json.writeNumberField("low_water_mark", definition.lowWaterMark());
            }
            json.writeEndObject();
        });
    }

    private static byte[] json(SequenceBlock block) {
        return JsonBody.toBytes(16 + block.size() * 20, json -> {
            json.writeStartObject();
            json.writeArrayFieldStart("values");
            for (PrimitiveIterator.OfLong values = block.stream().iterator(); values.hasNext(); ) {
                json.writeNumber(values.nextLong());
            }
            json.writeEndArray();
            json.writeEndObject();
        });
    }
}
