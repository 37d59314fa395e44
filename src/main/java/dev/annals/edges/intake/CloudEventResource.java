package dev.annals.edges.intake;

import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.core.append.Appends;
import dev.annals.core.record.RecordReader;
import dev.annals.kernel.http.BodyConfig;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * {@code POST /v1/cloudevents}: one CloudEvents 1.0 event in structured JSON mode or binary mode. {@code POST /v1/cloudevents/batch}:
 * several in batched JSON mode. The answers are those of an append of one record or a batch.
 */
@Path("/v1/cloudevents")
@Produces(MediaType.APPLICATION_JSON)
public class CloudEventResource {

    private static final Map<String, String> UTF_8 = Map.of("charset", "utf-8");
    private static final String ONE =
            "Send one event with the header Content-Type: application/cloudevents+json, or with its attributes in headers such"
                    + " as ce-id, and several with application/cloudevents-batch+json to POST /v1/cloudevents/batch.";

    private final Appends appends;
    private final CloudEventReader reader;
    private final BodyConfig limits;
    private final Appends.Form one;
    private final Appends.Form batch;

    CloudEventResource(Appends appends, RecordReader records, BodyConfig limits) {
        this.appends = appends;
        this.reader = new CloudEventReader(records);
        this.limits = limits;
        this.one = new Appends.Form(
                "cloudevents",
                new MediaType("application", "cloudevents+json", UTF_8),
                ONE,
                limits.maxBytes(),
                body -> List.of(this.reader.readEvent(body)),
                index -> "/data",
                false);
        this.batch = new Appends.Form(
                "cloudevents",
                new MediaType("application", "cloudevents-batch+json", UTF_8),
                "Send an array of events with the header Content-Type: application/cloudevents-batch+json, and one with"
                        + " application/cloudevents+json to POST /v1/cloudevents.",
                limits.maxBytes(),
                this.reader::readBatch,
                index -> "/" + index + "/data",
                true);
    }

    @POST
    @Requires(Scope.WRITE)
    public Uni<Response> appendCloudEvent(
            @Context HttpServerRequest http, @Context UriInfo uri, @Context ContainerRequestContext request) {
        return appends.append(http, uri, request, isBinary(http) ? binary(http) : one);
    }

    /** According to CloudEvents, its own media types mean structured mode, and others binary mode. */
    private static boolean isBinary(HttpServerRequest http) {
        String type = http.getHeader(HttpHeaders.CONTENT_TYPE);
        return http.headers().contains(CloudEventReader.HEADER + "specversion")
                && (type == null || !type.strip().toLowerCase(Locale.ROOT).startsWith("application/cloudevents"));
    }

    private Appends.Form binary(HttpServerRequest http) {
        return new Appends.Form(
                one.via(),
                MediaType.WILDCARD_TYPE,
                ONE,
                limits.maxBytes(),
                body -> List.of(reader.readBinary(http.headers(), body)),
                one.pointer(),
                false);
    }

    /** All or none. */
    @POST
    @Path("batch")
    @Requires(Scope.WRITE)
    public Uni<Response> appendCloudEventBatch(
            @Context HttpServerRequest http, @Context UriInfo uri, @Context ContainerRequestContext request) {
        return appends.append(http, uri, request, batch);
    }
}
