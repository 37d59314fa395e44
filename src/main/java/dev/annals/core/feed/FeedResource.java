package dev.annals.core.feed;

import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.access.limits.Limit;
import dev.annals.access.limits.Usage;
import dev.annals.access.tokens.TokenWatch;
import dev.annals.core.query.Filter;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.http.RequestParameters;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.HeaderParam;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.time.Duration;
import java.util.UUID;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Reading feeds over HTTP: {@code GET /v1/project-logs} and {@code GET /v1/project-logs/stream}.
 *
 * <p>The framework is not asked to check the media types, because it could not say where to find the other one.
 */
@Path(FeedLinks.PATH)
public class FeedResource {

    private final FeedReader reader;
    private final PageProver prover;
    private final LiveFeed live;
    private final PageAnswers answers;
    private final FeedLinks links;
    private final TokenWatch tokens;
    private final Usage usage;
    private final FeedConfig config;

    FeedResource(
            FeedReader reader,
            PageProver prover,
            LiveFeed live,
            PageAnswers answers,
            FeedLinks links,
            TokenWatch tokens,
            Usage usage,
            FeedConfig config) {
        this.tokens = tokens;
        this.usage = usage;
        this.reader = reader;
        this.prover = prover;
        this.live = live;
        this.answers = answers;
        this.links = links;
        this.config = config;
    }

    /** A page of the feed of the token's project: at once, or when there is a record for it. */
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
                FeedParameters.read(uri.getQueryParameters(), config, caller).seeing(FeedParameters.seen(http));
        Long proof = FeedParameters.proof(uri.getQueryParameters());
        if (proof != null) {
            // It covers whole pages of the feed, and so shows records that a link does not.
            caller.requireWholeFeed();
            return answers.within(
                    projectId,
                    query.memory(),
                    held -> prover.read(projectId, query, proof)
                            .map(page -> answers.page(http, uri, query, page.page(), page.proof(), held)));
        }
        Duration wait = Wait.of(uri.getQueryParameters(), query.order());
        if (wait.isZero()) {
            return answers.within(
                    projectId,
                    query.firstMemory(),
                    held -> reader.read(projectId, query, held)
                            .map(page -> answers.page(http, uri, query, page, held)));
        }
        return usage.within(
                        caller,
                        Limit.STREAMS,
                        tokens.whileValid(caller, http, live.poll(projectId, query, moving(uri, caller), wait)))
                .chain(page -> answers.within(
                        projectId,
                        page.answerAtMost(),
                        held -> Uni.createFrom().item(answers.page(http, uri, query, page, held))));
    }

    /** The feed of the token's project as Server-Sent Events, for as long as the client listens. */
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
        if (uri.getQueryParameters().containsKey(FeedParameters.ORDER)) {
            throw RequestParameters.invalid(
                    FeedParameters.ORDER,
                    "A stream always has the oldest record first: leave it out. To begin at the end, take the cursor of"
                            + " a page's link poll_more.");
        }
        if (uri.getQueryParameters().containsKey(FeedParameters.PROOF)) {
            throw RequestParameters.invalid(
                    FeedParameters.PROOF,
                    "A stream never ends, and a proof is about a checkpoint: leave it out, and prove pages.");
        }
        FeedQuery query =
                FeedParameters.read(uri.getQueryParameters(), config, caller).seeing(FeedParameters.seen(http));
        // The link poll_more may contain it. A stream waits anyway.
        Wait.of(uri.getQueryParameters(), query.order());
        if (lastEventId != null && !lastEventId.isEmpty()) {
            query = query.from(FeedParameters.cursor(lastEventId));
        }
        if (http.method().equals(HttpMethod.HEAD)) {
            return Uni.createFrom()
                    .item(Response.ok().type(MediaType.SERVER_SENT_EVENTS).build());
        }
        return usage.within(
                        caller,
                        Limit.STREAMS,
                        tokens.whileValid(caller, http, live.stream(projectId, query, moving(uri, caller), http)))
                .onFailure()
                .transform(failure -> links.withOldest(http, uri, failure));
    }

    private Supplier<Filter> moving(UriInfo uri, Caller caller) {
        return FeedParameters.moving(uri.getQueryParameters(), config, caller);
    }

    private static void requireAccepted(HttpHeaders headers, MediaType type, String otherwise) {
        if (headers.getAcceptableMediaTypes().stream().noneMatch(type::isCompatible)) {
            throw new ProblemException(ProblemType.NOT_ACCEPTABLE, otherwise);
        }
    }
}
