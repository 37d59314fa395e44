package dev.annals.edges.intake;

import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.access.limits.Usage;
import dev.annals.core.append.AppendBounds;
import dev.annals.core.append.Appends;
import dev.annals.core.record.RecordReader;
import dev.annals.edges.intake.LogRecord.Slice;
import dev.annals.kernel.http.BodyConfig;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemMapper;
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
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * {@code POST /v1/logs}: log records by OTLP over HTTP, as an OpenTelemetry Collector or SDK sends them.
 *
 * <p>Senders of OTLP try again after 429 and 503 only, and drop the log records after any other error. Temporary failures are therefore
 * answered with 503 here: a body that was too slow, and an internal error.
 */
@Path(LogsResource.PATH)
@Produces({MediaType.APPLICATION_JSON, "application/x-protobuf"})
public class LogsResource {

    static final String PATH = "/v1/logs";

    /** Collectors send batches of some thousand. */
    private static final int MAX_RECORDS = 20_000;

    private static final String TYPES =
            "Send an ExportLogsServiceRequest of OTLP, with the header Content-Type: application/x-protobuf or application/json.";
    /** A multiple of the longest body: each record repeats its resource and scope. */
    private static final int MAX_GROWTH = 4;

    static final LogEncoding PROTOBUF = new LogProtobuf();
    private static final LogEncoding JSON = new LogJson();

    private final Appends appends;
    private final LogMapping mapping;
    private final RequestBodies bodies;
    private final Usage usage;
    private final AppendBounds bounds;
    private final BodyConfig limits;
    private final Vertx vertx;

    LogsResource(
            Appends appends,
            RecordReader reader,
            RequestBodies bodies,
            Usage usage,
            AppendBounds bounds,
            BodyConfig limits,
            Vertx vertx) {
        this.appends = appends;
        this.mapping = new LogMapping(reader);
        this.bodies = bodies;
        this.usage = usage;
        this.bounds = bounds;
        this.limits = limits;
        this.vertx = vertx;
    }

    /** Stores each log record that is a record, and answers with the faults of the others. */
    @POST
    @Requires(Scope.WRITE)
    public Uni<Response> appendOtlpLogs(
            @Context HttpServerRequest http, @Context UriInfo uri, @Context ContainerRequestContext request) {
        Caller caller = Caller.of(request);
        RequestParameters.requireKnown(uri.getQueryParameters(), List.of());
        // Before the body is read, which would be in vain.
        usage.requireRoom(caller);
        LogEncoding encoding = encoding(http.getHeader(HttpHeaders.CONTENT_TYPE));
        var context = vertx.getOrCreateContext();
        Executor loop = work -> context.runOnContext(now -> work.run());
        return bodies.read(
                        http,
                        encoding.type(),
                        TYPES,
                        limits.maxBytes(),
                        caller.projectId(),
                        body -> store(caller, encoding, body, loop))
                .onFailure()
                .transform(LogsResource::asUnavailable);
    }

    static LogEncoding encoding(@Nullable String contentType) {
        return contentType != null
                        && contentType.strip().toLowerCase(Locale.ROOT).startsWith("application/x-protobuf")
                ? PROTOBUF
                : JSON;
    }

    private Uni<Response> store(Caller caller, LogEncoding encoding, byte[] body, Executor loop) {
        List<Slice> slices = encoding.find(body, MAX_RECORDS);
        long bytes = 0;
        for (Slice slice : slices) {
            bytes += slice.length();
        }
        if (bytes > (long) MAX_GROWTH * limits.maxBytes()) {
            throw new ProblemException(
                    ProblemType.BODY_TOO_LARGE,
                    "The log records have " + bytes
                            + " bytes with what each has of its resource and scope: send fewer at a time.");
        }
        usage.append(caller, slices.size(), bytes);
        RequestBodies.BodyMemory memory = bodies.memory(caller.projectId(), LogBatch.mostBytes(bounds));
        if (!memory.cover(Math.min(bytes, LogBatch.mostBytes(bounds)))) {
            memory.close();
            throw RequestBodies.noMemory();
        }
        return new LogBatch(caller, encoding, body, slices, mapping, appends, bounds, loop)
                .store()
                .onTermination()
                .invoke(memory::close)
                .map(refused -> Response.ok(encoding.answer(refused.count(), refused.message()), encoding.type())
                        .build());
    }

    /** OTLP's senders try again after 503, but not after other temporary failures. */
    private static Throwable asUnavailable(Throwable failure) {
        Problem problem = ProblemMapper.of("POST " + PATH, failure);
        if (problem.type() != ProblemType.BODY_TOO_SLOW && problem.type() != ProblemType.INTERNAL_ERROR) {
            return failure;
        }
        Problem again = Problem.of(ProblemType.UNAVAILABLE, problem.detail());
        Object instance = problem.members().get("instance");
        return new ProblemException(instance == null ? again : again.with("instance", instance));
    }
}
