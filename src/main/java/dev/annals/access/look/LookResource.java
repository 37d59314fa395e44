package dev.annals.access.look;

import dev.annals.access.caller.Actor;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.access.projects.ProjectCommands;
import dev.annals.access.projects.Projects;
import dev.annals.kernel.http.JsonBody;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.PUT;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;

/** The look of a project, at {@code /v1/projects/{project}/look}. */
@Path("/v1/projects/{project}/look")
@Produces(MediaType.APPLICATION_JSON)
public class LookResource {

    private final Looks looks;
    private final Projects projects;
    private final ProjectCommands commands;

    LookResource(Looks looks, Projects projects, ProjectCommands commands) {
        this.looks = looks;
        this.projects = projects;
        this.commands = commands;
    }

    @GET
    @Requires(Scope.AUDIT)
    public Uni<Response> getLook(@PathParam("project") String project) {
        return projects.find(project).chain(found -> looks.find(found.id())).map(LookResource::answer);
    }

    /** Replaces all of it. */
    @PUT
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires(Scope.ADMIN)
    public Uni<Response> setLook(
            @PathParam("project") String project,
            @Context HttpServerRequest http,
            @Context ContainerRequestContext request) {
        return commands.run(project, http, Look::read, (found, look) -> looks.set(found, look, Actor.of(request)))
                .map(LookResource::answer);
    }

    private static Response answer(Look look) {
        return JsonBody.answer(Response.Status.OK, look.size(), look::write);
    }
}
