package dev.annals.append;

import dev.annals.feed.FeedLinks;
import dev.annals.http.BodyConfig;
import dev.annals.http.JsonBody;
import dev.annals.http.RequestBodies;
import dev.annals.project.Caller;
import dev.annals.project.Requires;
import dev.annals.record.RecordReader;
import dev.annals.record.RecordWriter;
import dev.annals.record.SentRecords;
import dev.annals.record.StoredRecord;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.Consumes;
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

/** Writing over HTTP: {@code POST /v1/project-logs}. */
@Path(FeedLinks.PATH)
@Produces(MediaType.APPLICATION_JSON)
public class AppendResource {

    static final String NDJSON = "application/x-ndjson";

    /** About what a record takes in memory beside its JSON. */
    static final int RECORD_OVERHEAD_BYTES = 256;

    private final AppendQueue queue;
    private final RecordReader reader;
    private final FeedLinks links;
    private final RequestBodies bodies;
    private final AppendConfig config;
    private final BodyConfig limits;
    private final Vertx vertx;

    AppendResource(
            AppendQueue queue,
            RecordReader reader,
            FeedLinks links,
            RequestBodies bodies,
            AppendConfig config,
            BodyConfig limits,
            Vertx vertx) {
        this.vertx = vertx;
        this.bodies = bodies;
        this.queue = queue;
        this.reader = reader;
        this.links = links;
        this.config = config;
        this.limits = limits;
    }

    /** Appends one record, or an array of them: all or none. */
    @POST
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires.Write
    public Uni<Response> append(
            @Context HttpServerRequest http, @Context UriInfo uri, @Context ContainerRequestContext request) {
        Caller caller = Caller.of(request);
        RequestBodies.requireNoParameters(uri.getQueryParameters());
        return bodies.read(http, limits.maxBytes(), caller.projectId(), body -> {
            SentRecords sent = reader.read(body);
            long bytes = body.length + (long) sent.records().size() * RECORD_OVERHEAD_BYTES;
            // Before anything is stored: a request that no URL can be made for is refused.
            links.record(http, uri, sent.records().get(0).id());
            return queue.append(caller, sent, bytes).map(appended -> answer(http, uri, sent.inArray(), appended));
        });
    }

    /** Appends records as they stream in, a line each. */
    @POST
    @Consumes(NDJSON)
    @Requires.Write
    public Uni<Response> appendStream(
            @Context HttpServerRequest http, @Context UriInfo uri, @Context ContainerRequestContext request) {
        Caller caller = Caller.of(request);
        RequestBodies.requireNoParameters(uri.getQueryParameters());
        RequestBodies.Held held = bodies.held(caller.projectId(), BulkAppend.mostBytes(config));
        BulkAppend bulk =
                new BulkAppend(bodies.parts(http), held, vertx.getOrCreateContext(), caller, reader, queue, config);
        return Uni.createFrom()
                .completionStage(bulk::run)
                .onTermination()
                .invoke(held::close)
                .map(summary -> Response.ok(summary.toJson()).build());
    }

    private Response answer(HttpServerRequest http, UriInfo uri, boolean array, Appended appended) {
        StoredRecord first = appended.records().get(0);
        // Not as it was sent: an id that the service drew may have been drawn again.
        String location = links.record(http, uri, first.record().id());
        byte[] json = array ? places(appended.records()) : RecordWriter.toBytes(first);
        return Response.status(appended.added() > 0 ? Response.Status.CREATED : Response.Status.OK)
                .header(HttpHeaders.LOCATION, location)
                .entity(json)
                .build();
    }

    private static byte[] places(List<StoredRecord> records) {
        return JsonBody.toBytes(16 + records.size() * 80, json -> {
            json.writeStartObject();
            json.writeArrayFieldStart("results");
            for (StoredRecord record : records) {
                json.writeStartObject();
                json.writeStringField("id", record.record().id().toString());
                json.writeNumberField("sequence_id", record.sequenceId());
                RecordWriter.number(record, json);
                json.writeEndObject();
            }
            json.writeEndArray();
            json.writeEndObject();
        });
    }
}
