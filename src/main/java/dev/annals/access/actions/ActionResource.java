package dev.annals.access.actions;

import dev.annals.access.caller.Actor;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.access.projects.ProjectCommands;
import dev.annals.access.projects.Projects;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.RequestBodies;
import dev.annals.kernel.http.RequestParameters;
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

/** Catalogues of actions for administrators, at {@code /v1/projects/{project}/actions}. */
@Path("/v1/projects/{project}/actions")
@Produces(MediaType.APPLICATION_JSON)
public class ActionResource {

    private static final int SIZE = 1_024;

    private final Projects projects;
    private final Catalogues catalogues;
    private final ProjectCommands commands;
    private final RequestBodies bodies;

    ActionResource(Projects projects, Catalogues catalogues, ProjectCommands commands, RequestBodies bodies) {
        this.projects = projects;
        this.catalogues = catalogues;
        this.commands = commands;
        this.bodies = bodies;
    }

    @GET
    @Requires(Scope.AUDIT)
    public Uni<Response> getCatalogue(@PathParam("project") String project) {
        return projects.find(project).chain(found -> catalogues.now(found.id())).map(ActionResource::answer);
    }

    /** Deletes the actions that the body does not name. */
    @PUT
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires(Scope.ADMIN)
    public Uni<Response> setCatalogue(
            @PathParam("project") String project,
            @Context HttpServerRequest http,
            @Context ContainerRequestContext request) {
        return bodies.readCommand(http, CatalogueRequest.MAX_BODY_BYTES, Scope.ADMIN, body -> {
            CatalogueRequest asked = CatalogueRequest.readWhole(body);
            return projects.find(project)
                    .chain(found -> catalogues.set(found, asked, true, Actor.of(request)))
                    .map(ActionResource::answer);
        });
    }

    @GET
    @Path("/{action}")
    @Requires(Scope.AUDIT)
    public Uni<Response> getAction(@PathParam("project") String project, @PathParam("action") String action) {
        requireName(action);
        return projects.find(project).chain(found -> catalogues.now(found.id())).map(found -> answer(found, action));
    }

    @PUT
    @Path("/{action}")
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires(Scope.ADMIN)
    public Uni<Response> setAction(
            @PathParam("project") String project,
            @PathParam("action") String action,
            @Context HttpServerRequest http,
            @Context ContainerRequestContext request) {
        requireName(action);
        return commands.run(
                        project,
                        http,
                        body -> CatalogueRequest.readAction(action, body),
                        (found, asked) -> catalogues.set(found, asked, false, Actor.of(request)))
                .map(found -> answer(found, action));
    }

    /** Its records stay. */
    @DELETE
    @Path("/{action}")
    @Requires(Scope.ADMIN)
    public Uni<Response> deleteAction(
            @PathParam("project") String project,
            @PathParam("action") String action,
            @Context ContainerRequestContext request) {
        requireName(action);
        return projects.find(project)
                .chain(found -> catalogues.delete(found, action, Actor.of(request)))
                .map(deleted -> Response.noContent().build());
    }

    private static void requireName(String action) {
        if (action.codePointCount(0, action.length()) > CatalogueRequest.MAX_NAME
                || action.codePoints().anyMatch(c -> c == 0 || (c >= 0xD800 && c <= 0xDFFF))) {
            throw RequestParameters.invalid(
                    "action", "It must have at most " + CatalogueRequest.MAX_NAME + " characters that can be stored.");
        }
    }

    static Response answer(Catalogue catalogue) {
        return JsonBody.answer(Response.Status.OK, SIZE + catalogue.bytes(), catalogue::write);
    }

    private static Response answer(Catalogue catalogue, String name) {
        return JsonBody.answer(Response.Status.OK, SIZE, Catalogues.require(catalogue, name)::write);
    }
}
