package dev.annals.derived.move;

import dev.annals.access.caller.Actor;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.access.projects.ProjectCommands;
import dev.annals.access.projects.Projects;
import dev.annals.kernel.http.JsonBody;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.DELETE;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;

/** The newest move of a project, at {@code /v1/projects/{project}/move}. */
@Path("/v1/projects/{project}/move")
@Produces(MediaType.APPLICATION_JSON)
public class MoveResource {

    private static final int SIZE = 512;

    private final Moves moves;
    private final Projects projects;
    private final ProjectCommands commands;

    MoveResource(Moves moves, Projects projects, ProjectCommands commands) {
        this.moves = moves;
        this.projects = projects;
        this.commands = commands;
    }

    @GET
    @Requires(Scope.AUDIT)
    public Uni<Response> getMove(@PathParam("project") String project) {
        return projects.find(project)
                .chain(found -> moves.newest(found.id()))
                .map(move -> answer(Response.Status.OK, move));
    }

    /** It goes on in the background. */
    @POST
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires(Scope.ADMIN)
    public Uni<Response> moveProject(
            @PathParam("project") String project,
            @Context HttpServerRequest http,
            @Context ContainerRequestContext request) {
        return commands.run(
                        project,
                        http,
                        moves::readTarget,
                        (found, target) -> moves.start(found, target, Actor.of(request)))
                .map(move -> Response.fromResponse(answer(Response.Status.ACCEPTED, move))
                        .header(HttpHeaders.LOCATION, "/v1/projects/" + move.projectId() + "/move")
                        .build());
    }

    /** The copy is removed in the background. */
    @DELETE
    @Requires(Scope.ADMIN)
    public Uni<Response> cancelMove(@PathParam("project") String project, @Context ContainerRequestContext request) {
        return projects.find(project)
                .chain(found -> moves.cancel(found.id(), Actor.of(request)))
                .map(move -> answer(Response.Status.ACCEPTED, move));
    }

    private static Response answer(Response.Status status, Moves.Shown move) {
        return JsonBody.answer(status, SIZE, move::write);
    }
}
