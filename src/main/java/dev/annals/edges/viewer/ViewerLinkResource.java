package dev.annals.edges.viewer;

import dev.annals.access.caller.Actor;
import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.access.projects.Projects;
import dev.annals.core.feed.FeedLinks;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.RequestBodies;
import dev.annals.kernel.http.RequestParameters;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.util.List;

/** {@code POST /v1/viewer-links}: links with which an application shows its customers records, or a project of their own. */
@Path("/v1/viewer-links")
@Produces(MediaType.APPLICATION_JSON)
public class ViewerLinkResource {

    private static final int SIZE = 1_024;

    private final Projects projects;
    private final RequestBodies bodies;
    private final FeedLinks links;

    ViewerLinkResource(Projects projects, RequestBodies bodies, FeedLinks links) {
        this.projects = projects;
        this.bodies = bodies;
        this.links = links;
    }

    /** The token is in the fragment, which browsers never send. */
    @POST
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires(Scope.LINK)
    public Uni<Response> createViewerLink(
            @Context HttpServerRequest http, @Context UriInfo uri, @Context ContainerRequestContext request) {
        Caller caller = Caller.of(request);
        RequestParameters.requireKnown(uri.getQueryParameters(), List.of());
        String viewer = links.viewer(http);
        return bodies.readCommand(
                http,
                caller.projectId(),
                body -> projects.link(caller, body, Actor.of(request)).map(link -> answer(link, viewer)));
    }

    private static Response answer(Projects.ViewerLink link, String viewer) {
        return JsonBody.answer(Response.Status.CREATED, SIZE, json -> {
            json.writeStartObject();
            // The page's headers depend on the project, and no server sees the fragment.
            String project = link.isForWholeProject() ? "?project=" + link.projectId() : "";
            json.writeStringField("url", viewer + project + "#token=" + link.token());
            json.writeStringField("id", link.id().toString());
            json.writeStringField("subject_id", link.subjectId());
            json.writeStringField("actor_id", link.actorId());
            json.writeBooleanField("whole_project", link.isForWholeProject());
            Caller.writeCapabilities(json, link.scopes()::contains);
            json.writeStringField("expires_at", link.expiresAt().toInstant().toString());
            json.writeEndObject();
        });
    }
}
