package dev.annals.append;

import dev.annals.feed.FeedLinks;
import dev.annals.http.BodyConfig;
import dev.annals.http.JsonBody;
import dev.annals.http.RequestBodies;
import dev.annals.http.RequestParameters;
import dev.annals.project.Caller;
import dev.annals.project.Requires;
import dev.annals.project.TokenWatch;
import dev.annals.project.Usage;
import dev.annals.record.AuditRecord;
import dev.annals.record.RecordReader;
import dev.annals.record.RecordWriter;
import dev.annals.record.StoredRecord;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.runtime.ShutdownEvent;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerRequest;
import jakarta.enterprise.event.Observes;
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
import java.util.function.Function;

/** Writing over HTTP: {@code POST /v1/project-logs}, and the same path with {@code /batch} and {@code /import}. */
@Path(FeedLinks.PATH)
@Produces(MediaType.APPLICATION_JSON)
public class AppendResource {

    private static final MediaType NDJSON = new MediaType("application", "x-ndjson");

    /** About how much memory a record takes in addition to its JSON. */
    static final int RECORD_OVERHEAD_BYTES = 256;

    private static final String TYPES =
            "Send JSON in UTF-8, with the header Content-Type: application/json; application/x-ndjson goes to POST "
                    + FeedLinks.PATH + "/import.";

    private final ProjectQueues queues;
    private final RecordReader reader;
    private final FeedLinks links;
    private final RequestBodies bodies;
    private final TokenWatch tokens;
    private final Usage usage;
    private final AppendConfig config;
    private final BodyConfig limits;
    private final Vertx vertx;
    private final AppendedCounters one;
    private final AppendedCounters batches;
    private final AppendedCounters imports;

    AppendResource(
            AppendWriter writer,
            RecordReader reader,
            FeedLinks links,
            RequestBodies bodies,
            TokenWatch tokens,
            Usage usage,
            AppendConfig config,
            BodyConfig limits,
            MeterRegistry metrics,
            Vertx vertx) {
        this.vertx = vertx;
        this.bodies = bodies;
        this.tokens = tokens;
        this.usage = usage;
        this.queues = new ProjectQueues(writer, config, metrics);
        this.reader = reader;
        this.links = links;
        this.config = config;
        this.limits = limits;
        this.one = new AppendedCounters("one", metrics);
        this.batches = new AppendedCounters("batch", metrics);
        this.imports = new AppendedCounters("import", metrics);
    }

    /** Appends one record, and answers with it. */
    @POST
    @Requires.Write
    public Uni<Response> append(
            @Context HttpServerRequest http, @Context UriInfo uri, @Context ContainerRequestContext request) {
        return append(http, uri, request, body -> List.of(reader.readRecord(body)), false, AppendResource::first);
    }

    /** Appends the records of a batch: all or none. */
    @POST
    @Path("batch")
    @Requires.Write
    public Uni<Response> appendBatch(
            @Context HttpServerRequest http, @Context UriInfo uri, @Context ContainerRequestContext request) {
        return append(http, uri, request, reader::readBatch, true, AppendResource::places);
    }

    /** Appends records as they stream in, one per line. */
    @POST
    @Path("import")
    @Requires.Write
    public Uni<Response> appendStream(
            @Context HttpServerRequest http, @Context UriInfo uri, @Context ContainerRequestContext request) {
        Caller caller = Caller.of(request);
        RequestParameters.requireKnown(uri.getQueryParameters(), List.of());
        RequestBodies.requireType(
                http,
                NDJSON,
                "Send one JSON record per line, with the header Content-Type: application/x-ndjson; one record as JSON"
                        + " goes to POST " + FeedLinks.PATH + ", several to POST " + FeedLinks.PATH + "/batch.");
        RequestBodies.Held held = bodies.held(caller.projectId(), NdjsonUpload.mostBytes(config));
        NdjsonUpload upload = new NdjsonUpload(
                bodies.parts(http),
                held,
                vertx.getOrCreateContext(),
                () -> tokens.withLimitsOfNow(caller),
                usage,
                reader,
                queues,
                imports,
                config);
        return tokens.whileValid(caller, http, Uni.createFrom().completionStage(upload::run))
                .onTermination()
                .invoke(held::close)
                .map(summary -> Response.ok(summary.toJson()).build());
    }

    private Uni<Response> append(
            HttpServerRequest http,
            UriInfo uri,
            ContainerRequestContext request,
            Function<byte[], List<AuditRecord>> read,
            boolean inBatch,
            Function<List<StoredRecord>, byte[]> answer) {
        Caller caller = Caller.of(request);
        RequestParameters.requireKnown(uri.getQueryParameters(), List.of());
        // Before the body is read: it would be in vain.
        usage.requireRoom(caller);
        return bodies.read(http, TYPES, limits.maxBytes(), caller.projectId(), body -> {
            List<AuditRecord> records = read.apply(body);
            long bytes = body.length + (long) records.size() * RECORD_OVERHEAD_BYTES;
            // Before anything is stored, because a request for which no URL can be made is refused.
            links.record(http, uri, records.get(0).id());
            usage.append(caller, records.size(), body.length);
            AppendRequest append = new AppendRequest(caller.projectId(), caller.tokenId(), records, bytes);
            return Uni.createFrom()
                    .completionStage(() -> queues.append(append))
                    .invoke(outcome -> count(outcome, inBatch ? batches : one, body.length))
                    .map(outcome -> answer(http, uri, outcome, inBatch, answer));
        });
    }

    private static void count(AppendOutcome outcome, AppendedCounters counters, int size) {
        if (outcome instanceof AppendOutcome.Stored stored) {
            counters.stored(stored.added(), stored.records().size(), size);
        }
    }

    private Response answer(
            HttpServerRequest http,
            UriInfo uri,
            AppendOutcome outcome,
            boolean inBatch,
            Function<List<StoredRecord>, byte[]> answer) {
        if (outcome instanceof AppendOutcome.Stored stored) {
            return answer(http, uri, Response.Status.CREATED, stored.records(), answer);
        }
        if (outcome instanceof AppendOutcome.Duplicate duplicate) {
            return answer(http, uri, Response.Status.OK, duplicate.records(), answer);
        }
        throw AppendProblems.of(outcome, inBatch);
    }

    private Response answer(
            HttpServerRequest http,
            UriInfo uri,
            Response.Status status,
            List<StoredRecord> records,
            Function<List<StoredRecord>, byte[]> answer) {
        // Not the record as it was sent: the service may have drawn its id again.
        UUID first = records.get(0).record().id();
        return Response.status(status)
                .header(HttpHeaders.LOCATION, links.record(http, uri, first))
                .entity(answer.apply(records))
                .build();
    }

    private static byte[] first(List<StoredRecord> records) {
        return RecordWriter.toBytes(records.get(0));
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

    /** Turns new requests away. Waiting requests are still written and answered before the pool closes. */
    void stop(@Observes ShutdownEvent event) {
        queues.stop();
    }
}
