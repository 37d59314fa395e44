package dev.annals.core.append;

import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.access.limits.Usage;
import dev.annals.access.tokens.TokenWatch;
import dev.annals.core.feed.FeedLinks;
import dev.annals.core.record.RecordReader;
import dev.annals.kernel.http.BodyConfig;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.http.RequestBodies;
import dev.annals.kernel.http.RequestParameters;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.util.List;

/** Writing over HTTP: {@code POST /v1/project-logs}, and the same path with {@code /batch} and {@code /import}. */
@Path(FeedLinks.PATH)
@Produces(MediaType.APPLICATION_JSON)
public class AppendResource {

    private static final List<MediaType> NDJSON = List.of(
            new MediaType("application", "x-ndjson"),
            new MediaType("application", "ndjson"),
            new MediaType("application", "jsonl"));

    private static final String TYPES =
            "Send JSON in UTF-8, with the header Content-Type: application/json; application/x-ndjson goes to POST "
                    + FeedLinks.PATH + "/import.";

    private final Appends appends;
    private final RecordReader reader;
    private final RequestBodies bodies;
    private final TokenWatch tokens;
    private final Usage usage;
    private final AppendBounds bounds;
    private final Vertx vertx;
    private final Appends.Counters imports;
    private final Appends.Form one;
    private final Appends.Form batch;

    AppendResource(
            Appends appends,
            RecordReader reader,
            RequestBodies bodies,
            TokenWatch tokens,
            Usage usage,
            AppendBounds bounds,
            BodyConfig limits,
            Vertx vertx) {
        this.vertx = vertx;
        this.bodies = bodies;
        this.tokens = tokens;
        this.usage = usage;
        this.appends = appends;
        this.reader = reader;
        this.bounds = bounds;
        this.imports = appends.counters("import");
        this.one = new Appends.Form(
                "one",
                RequestBodies.JSON,
                TYPES,
                limits.maxBytes(),
                body -> List.of(reader.readRecord(body)),
                index -> "",
                false);
        this.batch = new Appends.Form(
                "batch",
                RequestBodies.JSON,
                TYPES,
                limits.maxBytes(),
                reader::readBatch,
                index -> "/records/" + index,
                true);
    }

    @POST
    @Requires(Scope.WRITE)
    public Uni<Response> appendProjectLog(
            @Context HttpServerRequest http, @Context UriInfo uri, @Context ContainerRequestContext request) {
        return appends.append(http, uri, request, one);
    }

    @POST
    @Path("batch")
    @Requires(Scope.WRITE)
    public Uni<Response> appendProjectLogBatch(
            @Context HttpServerRequest http, @Context UriInfo uri, @Context ContainerRequestContext request) {
        return appends.append(http, uri, request, batch);
    }

    @POST
    @Path("import")
    @Requires(Scope.WRITE)
    public Uni<Response> importProjectLogs(
            @Context HttpServerRequest http, @Context UriInfo uri, @Context ContainerRequestContext request) {
        Caller caller = Caller.of(request);
        RequestParameters.requireKnown(uri.getQueryParameters(), List.of());
        RequestBodies.requireType(
                http,
                NDJSON,
                "Send one JSON record per line, with the header Content-Type: application/x-ndjson; one record as JSON"
                        + " goes to POST " + FeedLinks.PATH + ", several to POST " + FeedLinks.PATH + "/batch.");
        RequestBodies.BodyMemory held = bodies.memory(caller.projectId(), NdjsonUpload.mostBytes(bounds));
        NdjsonUpload upload = new NdjsonUpload(
                bodies.parts(http),
                held,
                vertx.getOrCreateContext(),
                () -> tokens.withLimitsOfNow(caller),
                usage,
                reader,
                appends,
                imports,
                bounds);
        return tokens.whileValid(caller, http, Uni.createFrom().completionStage(upload::run))
                .onTermination()
                .invoke(held::close)
                .map(AppendResource::answer);
    }

    private static Response answer(NdjsonUpload.Summary summary) {
        return summary.isRefusal()
                ? Response.status(ProblemType.ALL_LINES_REFUSED.status())
                        .type(Problem.MEDIA_TYPE)
                        .entity(summary.toJson())
                        .build()
                : Response.ok(summary.toJson()).build();
    }
}
