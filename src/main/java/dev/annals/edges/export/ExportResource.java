package dev.annals.edges.export;

import dev.annals.access.actions.Catalogue;
import dev.annals.access.actions.Catalogues;
import dev.annals.access.caller.Actor;
import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.access.limits.Limit;
import dev.annals.access.limits.Usage;
import dev.annals.access.places.Places;
import dev.annals.access.tokens.OperationEvents;
import dev.annals.access.tokens.TokenWatch;
import dev.annals.core.feed.FeedConfig;
import dev.annals.core.feed.FeedLinks;
import dev.annals.core.feed.FeedReader;
import dev.annals.core.record.RecordEncoder;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.memory.MemoryBudget;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpVersion;
import io.vertx.ext.web.RoutingContext;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** Whole feeds over HTTP: {@code GET /v1/project-logs/export}. */
@Path(FeedLinks.PATH)
public class ExportResource {

    private static final int MAX_NAME = 100;

    private final FeedReader reader;
    private final Exports exports;
    private final FeedLinks links;
    private final FeedConfig feedConfig;
    private final MemoryBudget memory;
    private final TokenWatch tokens;
    private final Usage usage;
    private final OperationEvents operations;
    private final Places places;
    private final Catalogues catalogues;

    ExportResource(
            FeedReader reader,
            Exports exports,
            FeedLinks links,
            FeedConfig feedConfig,
            MemoryBudget memory,
            TokenWatch tokens,
            Usage usage,
            OperationEvents operations,
            Places places,
            Catalogues catalogues) {
        this.reader = reader;
        this.exports = exports;
        this.links = links;
        this.feedConfig = feedConfig;
        this.memory = memory;
        this.tokens = tokens;
        this.usage = usage;
        this.operations = operations;
        this.places = places;
        this.catalogues = catalogues;
    }

    /** The records behind a cursor that match the filters, up to the head that the feed has now. */
    @GET
    @Path("/export")
    @Produces({ExportFormat.LINES, ExportFormat.CSV_TYPE})
    @Requires(Scope.EXPORT)
    public Uni<Response> exportProjectLogs(
            @Context RoutingContext routing, @Context UriInfo uri, @Context ContainerRequestContext request) {
        Caller caller = Caller.of(request);
        UUID projectId = caller.projectId();
        ExportRequest asked = ExportRequest.read(
                uri.getQueryParameters(),
                routing.request().headers().getAll(HttpHeaders.ACCEPT_ENCODING),
                feedConfig,
                caller);
        requireChunks(routing.request());
        boolean bodyless = routing.request().method().equals(HttpMethod.HEAD);
        Runnable place = bodyless ? () -> {} : place(caller);
        return memory.take(projectId, ExportStream.memory(feedConfig))
                .onFailure()
                .invoke(place)
                .onCancellation()
                .invoke(place)
                .chain(held -> {
                    Runnable ended = tokens.follow(caller, routing.request());
                    Runnable release = () -> {
                        ended.run();
                        place.run();
                        held.close();
                    };
                    Uni<Void> noted = bodyless
                            ? Uni.createFrom().voidItem()
                            : operations.began(
                                    places.of(projectId),
                                    Actor.of(request),
                                    "annals.export.start",
                                    "project",
                                    projectId.toString(),
                                    asked::describe);
                    return noted.chain(() -> format(caller, asked))
                            .chain(records ->
                                    begin(routing.request(), uri, projectId, asked, records, bodyless, release))
                            .onFailure()
                            .transform(failure -> links.withOldest(routing.request(), uri, failure))
                            .onFailure()
                            .invoke(release)
                            .onCancellation()
                            .invoke(release);
                });
    }

    private Uni<RecordEncoder.Format> format(Caller caller, ExportRequest asked) {
        return asked.format() == ExportFormat.OCSF
                ? catalogues.of(caller).map(catalogue -> asked.format().of(caller.projectId(), catalogue))
                : Uni.createFrom().item(asked.format().of(caller.projectId(), Catalogue.NONE));
    }

    private Runnable place(Caller caller) {
        Runnable withinLimits = usage.enter(caller, Limit.EXPORTS);
        try {
            Runnable place = exports.take(caller.projectId());
            return () -> {
                place.run();
                withinLimits.run();
            };
        } catch (ProblemException full) {
            withinLimits.run();
            throw full;
        }
    }

    private Uni<Response> begin(
            HttpServerRequest request,
            UriInfo uri,
            UUID projectId,
            ExportRequest asked,
            RecordEncoder.Format records,
            boolean bodyless,
            Runnable release) {
        return exports.bounds(projectId)
                .chain(bounds -> reader.read(
                                projectId,
                                ExportStream.pages(asked.query(), feedConfig)
                                        .seeing(bounds.head().sequenceId())
                                        .as(records))
                        .map(page -> {
                            Response.ResponseBuilder answer = headers(request, uri, projectId, asked, bounds);
                            if (bodyless) {
                                release.run();
                                return answer.build();
                            }
                            long head = bounds.head().sequenceId();
                            return answer.entity(new ExportStream(
                                            request.response(),
                                            reader,
                                            projectId,
                                            asked,
                                            records,
                                            page,
                                            head,
                                            feedConfig,
                                            release))
                                    .build();
                        }));
    }

    /** HTTP/1.0 has no chunks: the end of the connection ends the body, so a part would look complete. */
    private static void requireChunks(HttpServerRequest request) {
        if (request.version() == HttpVersion.HTTP_1_0) {
            throw new ProblemException(new Problem(
                    ProblemType.OTHER,
                    505,
                    "HTTP Version Not Supported",
                    "With HTTP/1.0 an interrupted export cannot be told from a complete one: use HTTP/1.1 or newer, also"
                            + " in a proxy in front of the service.",
                    List.of(),
                    Map.of()));
        }
    }

    private Response.ResponseBuilder headers(
            HttpServerRequest request, UriInfo uri, UUID projectId, ExportRequest asked, Exports.Bounds bounds) {
        Response.ResponseBuilder answer = Response.ok()
                .header(HttpHeaders.CONTENT_TYPE, asked.format().mediaType())
                .header(
                        HttpHeaders.CONTENT_DISPOSITION,
                        "attachment; filename=\"" + fileName(projectId, asked, bounds) + "\"")
                .header(HttpHeaders.LINK, "<" + links.pollMore(request, uri, bounds.head()) + ">; rel=\"poll-more\"")
                .header(HttpHeaders.VARY, HttpHeaders.ACCEPT_ENCODING);
        return asked.gzip() ? answer.header(HttpHeaders.CONTENT_ENCODING, "gzip") : answer;
    }

    /** Letters, digits, dots, dashes and underscores are safe in a header and in every file system. */
    private static String fileName(UUID projectId, ExportRequest asked, Exports.Bounds bounds) {
        String name = bounds.projectName().replaceAll("[^A-Za-z0-9]+", "-").replaceAll("^-|-$", "");
        long from = asked.query().cursor() == null ? 1 : asked.query().cursor().sequenceId() + 1;
        return "annals-" + (name.isEmpty() ? projectId : name.substring(0, Math.min(MAX_NAME, name.length())))
                + "-" + from + "-" + Math.max(from - 1, bounds.head().sequenceId())
                + "." + asked.format().extension();
    }
}
