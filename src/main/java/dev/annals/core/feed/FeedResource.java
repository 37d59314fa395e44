package dev.annals.core.feed;

import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.access.caller.View;
import dev.annals.access.limits.Limit;
import dev.annals.access.limits.Usage;
import dev.annals.access.tokens.TokenWatch;
import dev.annals.core.feed.FeedReader.PageProver;
import dev.annals.core.query.Filter;
import dev.annals.core.record.AuditRecord.Party;
import dev.annals.core.record.StoredRecord;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.http.RequestParameters;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.HeaderParam;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.time.Duration;
import java.util.Set;
import java.util.UUID;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads the feed of the token's project over HTTP: {@code GET /v1/project-logs} and below.
 *
 * <p>{@link FeedQuery} reads the parameters, {@link FeedReader} the page, {@link LiveFeed} waits for records, and
 * {@link PageAnswers} writes the answer. The media types are checked here and not by the framework, because the refusal names the
 * other address.
 */
@Path(FeedLinks.PATH)
public class FeedResource {

    /** Other addresses below this path, which take POST alone. The framework would read them as ids. */
    private static final Set<String> NO_IDS = Set.of("batch", "import");

    private final FeedReader reader;
    private final DatabaseReader.Placed database;
    private final PageProver prover;
    private final LiveFeed live;
    private final PageAnswers answers;
    private final FeedLinks links;
    private final TokenWatch tokens;
    private final Usage usage;
    private final FeedConfig config;
    private final Misfits misfits;

    FeedResource(
            FeedReader reader,
            DatabaseReader.Placed database,
            PageProver prover,
            LiveFeed live,
            PageAnswers answers,
            FeedLinks links,
            TokenWatch tokens,
            Usage usage,
            FeedConfig config,
            Misfits misfits) {
        this.reader = reader;
        this.database = database;
        this.prover = prover;
        this.live = live;
        this.answers = answers;
        this.links = links;
        this.tokens = tokens;
        this.usage = usage;
        this.config = config;
        this.misfits = misfits;
    }

    /** Answers with a page, at once or when it has a record. */
    @GET
    @Requires(Scope.VIEW)
    public Uni<Response> listProjectLogs(
            @Context HttpServerRequest http,
            @Context UriInfo uri,
            @Context HttpHeaders headers,
            @Context ContainerRequestContext request) {
        return page(http, uri, headers, request).onFailure().transform(failure -> links.withOldest(http, uri, failure));
    }

    private Uni<Response> page(
            HttpServerRequest http, UriInfo uri, HttpHeaders headers, ContainerRequestContext request) {
        requireAccepted(
                headers,
                MediaType.APPLICATION_JSON_TYPE,
                "A page is JSON: accept application/json. Server-Sent Events are at " + FeedLinks.PATH + "/stream.");
        Caller caller = Caller.of(request);
        UUID projectId = caller.projectId();
        FeedQuery query =
                FeedQuery.read(uri.getQueryParameters(), config, caller).seeing(FeedQuery.readSeen(http));
        Long proof = FeedQuery.readProof(uri.getQueryParameters());
        if (proof != null) {
            // A proof covers whole pages, and so shows records that a link's view hides.
            caller.requireNoLink();
            return answers.within(
                    projectId,
                    query.memory(),
                    held -> prover.read(projectId, query, proof)
                            .map(page -> answers.page(http, uri, query, page.page(), page.proof(), held)));
        }
        Duration wait = FeedQuery.readWait(uri.getQueryParameters(), query.order());
        if (wait.isZero()) {
            return answers.within(
                    projectId,
                    query.firstMemory(),
                    held -> reader.read(projectId, query, held)
                            .chain(page -> misfits.mark(caller, page, held))
                            .map(page -> answers.page(http, uri, query, page, held)));
        }
        return usage.within(
                        caller,
                        Limit.STREAMS,
                        tokens.whileValid(caller, http, live.poll(projectId, query, filter(uri, caller), wait)))
                .chain(page -> answers.within(
                        projectId,
                        page.answerAtMost(),
                        held -> misfits.mark(caller, page, held)
                                .map(marked -> answers.page(http, uri, query, marked, held))));
    }

    @GET
    @Path("/stream")
    @Requires(Scope.VIEW)
    public Uni<Response> streamProjectLogs(
            @Context HttpServerRequest http,
            @Context UriInfo uri,
            @Context HttpHeaders headers,
            @HeaderParam(HttpHeaders.LAST_EVENT_ID_HEADER) @Nullable String lastEventId,
            @Context ContainerRequestContext request) {
        requireAccepted(
                headers,
                MediaType.SERVER_SENT_EVENTS_TYPE,
                "A stream is Server-Sent Events: accept text/event-stream. Pages of JSON are at " + FeedLinks.PATH
                        + ".");
        Caller caller = Caller.of(request);
        UUID projectId = caller.projectId();
        if (uri.getQueryParameters().containsKey(FeedQuery.ORDER)) {
            throw RequestParameters.invalid(
                    FeedQuery.ORDER,
                    "A stream always has the oldest record first: leave it out. To begin at the end, take the cursor of"
                            + " a page's link poll_more.");
        }
        if (uri.getQueryParameters().containsKey(FeedQuery.PROOF)) {
            throw RequestParameters.invalid(
                    FeedQuery.PROOF,
                    "A stream never ends, and a proof is about a checkpoint: leave it out, and prove pages.");
        }
        FeedQuery query =
                FeedQuery.read(uri.getQueryParameters(), config, caller).seeing(FeedQuery.readSeen(http));
        // The link poll_more may contain wait. A stream waits anyway.
        FeedQuery.readWait(uri.getQueryParameters(), query.order());
        if (lastEventId != null && !lastEventId.isEmpty()) {
            query = query.from(FeedQuery.readCursor(lastEventId));
        }
        if (http.method().equals(HttpMethod.HEAD)) {
            return Uni.createFrom()
                    .item(Response.ok().type(MediaType.SERVER_SENT_EVENTS).build());
        }
        return usage.within(
                        caller,
                        Limit.STREAMS,
                        tokens.whileValid(caller, http, live.stream(projectId, query, filter(uri, caller), http)))
                .onFailure()
                .transform(failure -> links.withOldest(http, uri, failure));
    }

    @GET
    @Path("/{id}")
    @Produces(MediaType.APPLICATION_JSON)
    @Requires(Scope.VIEW)
    public Uni<Response> getProjectLog(
            @Context HttpServerRequest http, @PathParam("id") String id, @Context ContainerRequestContext request) {
        if (NO_IDS.contains(id)) {
            throw new WebApplicationException(Response.Status.METHOD_NOT_ALLOWED);
        }
        Caller caller = Caller.of(request);
        return answers.within(
                caller.projectId(),
                FeedQuery.LARGEST_RECORD,
                held -> database.require(caller.projectId(), id)
                        .invoke(record -> requireShown(caller.view(), record))
                        .map(record -> answers.record(http, record, held)));
    }

    private static void requireShown(@Nullable View view, StoredRecord found) {
        Party actor = found.record().actor();
        Party subject = found.record().subject();
        if (view != null && !view.shows(actor == null ? null : actor.id(), subject == null ? null : subject.id())) {
            throw DatabaseReader.noSuchRecord();
        }
    }

    private static Supplier<Filter> filter(UriInfo uri, Caller caller) {
        return FeedQuery.readMovingFilter(uri.getQueryParameters(), caller);
    }

    private static void requireAccepted(HttpHeaders headers, MediaType type, String otherwise) {
        if (headers.getAcceptableMediaTypes().stream().noneMatch(type::isCompatible)) {
            throw new ProblemException(ProblemType.NOT_ACCEPTABLE, otherwise);
        }
    }
}
