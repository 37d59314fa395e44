package dev.annals.edges.viewer;

import dev.annals.access.caller.Actor;
import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.RequestBodies;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.DELETE;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.PUT;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.util.UUID;

/**
 * Saved views over HTTP, at {@code /v1/views}. Readers use them. Saving needs the scope of alerts, which are saved queries, too: a token
 * that only reads changes nothing that others see.
 */
@Path("/v1/views")
@Produces(MediaType.APPLICATION_JSON)
@Requires(Scope.STREAM)
public class SavedViewResource {

    private static final int SIZE = 1_024;

    private final SavedViews views;
    private final RequestBodies bodies;

    SavedViewResource(SavedViews views, RequestBodies bodies) {
        this.views = views;
        this.bodies = bodies;
    }

    @GET
    @Requires(Scope.READ)
    public Uni<Response> listViews(@Context ContainerRequestContext request) {
        return views.list(Caller.of(request).projectId())
                .map(found -> JsonBody.answer("views", SIZE, found, SavedView::write));
    }

    @PUT
    @Path("/{name}")
    @Consumes(MediaType.APPLICATION_JSON)
    public Uni<Response> setView(
            @PathParam("name") String name, @Context HttpServerRequest http, @Context ContainerRequestContext request) {
        SavedView.requireName(name);
        UUID projectId = Caller.of(request).projectId();
        return bodies.readCommand(
                        http, projectId, body -> views.set(projectId, name, SavedView.read(body), Actor.of(request)))
                .map(defined -> JsonBody.answer(
                        defined.created() ? Response.Status.CREATED : Response.Status.OK, SIZE, defined.view()::write));
    }

    @DELETE
    @Path("/{name}")
    public Uni<Response> deleteView(@PathParam("name") String name, @Context ContainerRequestContext request) {
        SavedView.requireName(name);
        return views.delete(Caller.of(request).projectId(), name, Actor.of(request))
                .map(deleted -> Response.noContent().build());
    }
}
