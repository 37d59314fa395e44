package dev.annals.append;

import dev.annals.feed.FeedLinks;
import dev.annals.project.Caller;
import dev.annals.project.Requires;
import dev.annals.record.RecordJson;
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
import java.util.UUID;

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
    private final AppendConfig config;
    private final Vertx vertx;

    AppendResource(AppendQueue queue, RecordReader reader, FeedLinks links, AppendConfig config, Vertx vertx) {
        this.vertx = vertx;
        this.queue = queue;
        this.reader = reader;
        this.links = links;
        this.config = config;
    }

    /** Appends one record, or an array of them: all or none. */
    @POST
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires.Write
    public Uni<Response> append(
            @Context HttpServerRequest http, @Context UriInfo uri, @Context ContainerRequestContext request) {
        UUID projectId = Caller.of(request).projectId();
        RequestBody.requireNoParameters(uri.getQueryParameters());
        return RequestBody.read(http, config.maxBodyBytes()).chain(body -> {
            SentRecords sent = reader.read(body);
            long bytes = body.length + (long) sent.records().size() * RECORD_OVERHEAD_BYTES;
            // Before anything is stored: a request that no URL can be made for is refused.
            String location = links.record(uri, sent.records().get(0).id());
            return queue.append(projectId, sent, bytes).map(appended -> answer(location, sent.inArray(), appended));
        });
    }

    /** Appends records as they stream in, a line each. */
    @POST
    @Consumes(NDJSON)
    @Requires.Write
    public Uni<Response> appendStream(
            @Context HttpServerRequest http, @Context UriInfo uri, @Context ContainerRequestContext request) {
        UUID projectId = Caller.of(request).projectId();
        RequestBody.requireNoParameters(uri.getQueryParameters());
        RequestBody.requireNoEncoding(http);
        BulkAppend bulk = new BulkAppend(http, vertx.getOrCreateContext(), projectId, reader, queue, config);
        return Uni.createFrom()
                .completionStage(bulk::run)
                .map(summary -> Response.ok(summary.toJson()).build());
    }

    private static Response answer(String location, boolean array, Appended appended) {
        StoredRecord first = appended.records().get(0);
        byte[] json = array ? places(appended.records()) : RecordJson.of(first);
        return Response.status(appended.added() > 0 ? Response.Status.CREATED : Response.Status.OK)
                .header(HttpHeaders.LOCATION, location)
                .entity(json)
                .build();
    }

    private static byte[] places(List<StoredRecord> records) {
        return RecordJson.toBytes(16 + records.size() * 80, json -> {
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
