package dev.annals.access.holds;

import dev.annals.access.caller.Actor;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.access.projects.Listed;
import dev.annals.access.projects.ProjectCommands;
import dev.annals.access.projects.Projects;
import dev.annals.kernel.http.JsonBody;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;

/** Legal holds, at {@code /v1/projects/{project}/holds}. */
@Path("/v1/projects/{project}/holds")
@Produces(MediaType.APPLICATION_JSON)
public class HoldResource {

    private static final int SIZE = 1_024;

    private final Projects projects;
    private final Holds holds;
    private final ProjectCommands commands;

    HoldResource(Projects projects, Holds holds, ProjectCommands commands) {
        this.projects = projects;
        this.holds = holds;
        this.commands = commands;
    }

    /** Lists lifted ones, too, in the order in which they were set. */
    @GET
    @Requires(Scope.AUDIT)
    public Uni<Response> listHolds(@PathParam("project") String project, @Context UriInfo uri) {
        Listed.Part part = Listed.Part.of(uri);
        return projects.find(project)
                .chain(found -> holds.list(found, part))
                .map(listed -> listed.answer("holds", SIZE, hold -> hold::write));
    }

    @POST
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires(Scope.ADMIN)
    public Uni<Response> setHold(
            @PathParam("project") String project,
            @Context HttpServerRequest http,
            @Context ContainerRequestContext request) {
        return commands.run(
                        project,
                        http,
                        Holds.NewHold::read,
                        (found, asked) -> holds.set(found, asked, Actor.of(request)))
                .map(hold -> JsonBody.answer(Response.Status.CREATED, SIZE, hold::write));
    }

    /** The hold stays in the list. The request may be repeated. */
    @POST
    @Path("/{id}/lift")
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires(Scope.ADMIN)
    public Uni<Response> liftHold(
            @PathParam("project") String project,
            @PathParam("id") String id,
            @Context HttpServerRequest http,
            @Context ContainerRequestContext request) {
        return commands.run(
                        project,
                        http,
                        Holds::readReason,
                        (found, reason) -> holds.lift(found, ProjectCommands.id(id, "hold"), reason, Actor.of(request)))
                .map(lifted -> JsonBody.answer(Response.Status.OK, SIZE, lifted::write));
    }
}
