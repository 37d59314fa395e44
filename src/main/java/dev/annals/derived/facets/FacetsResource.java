package dev.annals.derived.facets;

import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.core.feed.FeedConfig;
import dev.annals.core.feed.PageAnswers;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.util.UUID;

/** Facets over HTTP: {@code GET /v1/project-logs/facets}. */
@Path("/v1/project-logs/facets")
@Produces(MediaType.APPLICATION_JSON)
public class FacetsResource {

    private final Facets facets;
    private final PageAnswers answers;
    private final FeedConfig feedConfig;

    FacetsResource(Facets facets, PageAnswers answers, FeedConfig feedConfig) {
        this.facets = facets;
        this.answers = answers;
        this.feedConfig = feedConfig;
    }

    /** The filters include those of a link. */
    @GET
    @Requires(Scope.VIEW)
    public Uni<Response> countProjectLogFacets(
            @Context HttpServerRequest http, @Context UriInfo uri, @Context ContainerRequestContext request) {
        Caller caller = Caller.of(request);
        UUID projectId = caller.projectId();
        FacetsRequest asked = FacetsRequest.read(uri.getQueryParameters(), feedConfig, caller);
        return answers.within(
                projectId,
                Facets.firstMemory(asked),
                held -> facets.count(projectId, asked, held::tryGrowTo)
                        .map(json -> answers.body(http, json, MediaType.APPLICATION_JSON, held)));
    }
}
