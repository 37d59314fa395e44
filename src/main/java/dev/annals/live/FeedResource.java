package dev.annals.live;

import dev.annals.feed.FeedConfig;
import dev.annals.feed.FeedLinks;
import dev.annals.feed.FeedPage;
import dev.annals.feed.FeedParameters;
import dev.annals.feed.FeedQuery;
import dev.annals.feed.FeedReader;
import dev.annals.feed.PageAnswers;
import dev.annals.http.RequestParameters;
import dev.annals.memory.Reservation;
import dev.annals.project.Caller;
import dev.annals.project.Requires;
import dev.annals.search.Order;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.HeaderParam;
import jakarta.ws.rs.NotAcceptableException;
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
import org.jspecify.annotations.Nullable;

/** Reading feeds over HTTP: {@code GET /v1/project-logs}. */
@Path(FeedLinks.PATH)
@Produces(MediaType.APPLICATION_JSON)
public class FeedResource {

    private final FeedReader reader;
    private final LiveFeed live;
    private final PageAnswers answers;
    private final FeedConfig config;

    FeedResource(FeedReader reader, LiveFeed live, PageAnswers answers, FeedConfig config) {
        this.reader = reader;
        this.live = live;
        this.answers = answers;
        this.config = config;
    }

    /** A page of the feed of the token's project: at once, or when there is a record for it. */
    @GET
    @Requires.Read
    public Uni<Response> list(
            @Context HttpServerRequest http,
            @Context UriInfo uri,
            @Context HttpHeaders headers,
            @Context ContainerRequestContext request) {
        requireJsonAccepted(headers);
        UUID projectId = Caller.of(request).projectId();
        FeedQuery query = FeedParameters.read(uri.getQueryParameters(), config);
        Wait wait = Wait.of(uri.getQueryParameters(), headers.getRequestHeader("Prefer"), query.order());
        if (wait.isNone()) {
            return answers.within(
                    projectId,
                    query.memory(),
                    held -> reader.read(projectId, query).map(page -> answer(http, uri, query, wait, page, held)));
        }
        return live.poll(projectId, query, wait.duration())
                .chain(page -> answers.within(
                        projectId,
                        page.jsonAtMost(),
                        held -> Uni.createFrom().item(answer(http, uri, query, wait, page, held))));
    }

    /** Of two methods with a media type each, the framework takes the first where none of them is accepted. */
    private static void requireJsonAccepted(HttpHeaders headers) {
        if (headers.getAcceptableMediaTypes().stream().noneMatch(MediaType.APPLICATION_JSON_TYPE::isCompatible)) {
            throw new NotAcceptableException();
        }
    }

    /** The feed of the token's project as Server-Sent Events, which go on for as long as the client listens. */
    @GET
    @Produces(MediaType.SERVER_SENT_EVENTS)
    @Requires.Read
    public Uni<Response> stream(
            @Context HttpServerRequest http,
            @Context UriInfo uri,
            @HeaderParam(HttpHeaders.LAST_EVENT_ID_HEADER) @Nullable String lastEventId,
            @Context ContainerRequestContext request) {
        UUID projectId = Caller.of(request).projectId();
        FeedQuery query = FeedParameters.read(uri.getQueryParameters(), config);
        // The link poll_more may carry it: a stream waits anyway.
        Wait.of(uri.getQueryParameters(), List.of(), query.order());
        if (query.order() == Order.DESCENDING) {
            throw RequestParameters.invalid(
                    FeedParameters.ORDER,
                    "A stream has the oldest record first. To begin at the end, open the link poll_more of a page.");
        }
        if (lastEventId != null && !lastEventId.isEmpty()) {
            query = query.from(FeedParameters.cursor(lastEventId));
        }
        if (http.method().equals(HttpMethod.HEAD)) {
            return Uni.createFrom()
                    .item(Response.ok().type(MediaType.SERVER_SENT_EVENTS).build());
        }
        return live.stream(projectId, query, http);
    }

    private Response answer(
            HttpServerRequest http, UriInfo uri, FeedQuery query, Wait wait, FeedPage page, Reservation held) {
        Response answer = answers.page(http, uri, query, page, held);
        return wait.preferred()
                ? Response.fromResponse(answer)
                        .header("Preference-Applied", "wait=" + wait.duration().toSeconds())
                        .build()
                : answer;
    }
}
