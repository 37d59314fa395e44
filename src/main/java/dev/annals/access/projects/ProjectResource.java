package dev.annals.access.projects;

import dev.annals.access.caller.Actor;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.access.limits.Limits;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.RequestBodies;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.DELETE;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.PATCH;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.PUT;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.util.UUID;

/** Projects and their tokens, at {@code /v1/projects}. A path names a project by its id or its name. */
@Path("/v1/projects")
@Produces(MediaType.APPLICATION_JSON)
public class ProjectResource {

    /** For an answer without a list. */
    private static final int SIZE = 512;

    private final Projects projects;
    private final ProjectCommands commands;
    private final RequestBodies bodies;

    ProjectResource(Projects projects, ProjectCommands commands, RequestBodies bodies) {
        this.projects = projects;
        this.commands = commands;
        this.bodies = bodies;
    }

    /** In the order in which they were created. */
    @GET
    @Requires(Scope.AUDIT)
    public Uni<Response> listProjects(@Context UriInfo uri) {
        return projects.list(Listed.Part.of(uri))
                .map(listed -> listed.answer("projects", SIZE, project -> project::write));
    }

    @POST
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires(Scope.ADMIN)
    public Uni<Response> createProject(@Context HttpServerRequest http, @Context ContainerRequestContext request) {
        return bodies.readCommand(
                http,
                Scope.ADMIN,
                body -> projects.create(ProjectRequests.NewProject.read(body, projects.databases()), Actor.of(request))
                        .map(project -> answer(Response.Status.CREATED, project)));
    }

    @GET
    @Path("/{project}")
    @Requires(Scope.AUDIT)
    public Uni<Response> getProject(@PathParam("project") String project) {
        return projects.find(project).chain(projects::described).map(found -> answer(Response.Status.OK, found));
    }

    @PATCH
    @Path("/{project}")
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires(Scope.ADMIN)
    public Uni<Response> changeProject(
            @PathParam("project") String project,
            @Context HttpServerRequest http,
            @Context ContainerRequestContext request) {
        return commands.run(
                        project,
                        http,
                        ProjectRequests.ProjectChange::read,
                        (found, change) -> projects.change(found, change, Actor.of(request)))
                .map(changed -> answer(Response.Status.OK, changed));
    }

    /** The records can still be read. */
    @POST
    @Path("/{project}/close")
    @Requires(Scope.ADMIN)
    public Uni<Response> closeProject(@PathParam("project") String project, @Context ContainerRequestContext request) {
        return projects.find(project)
                .chain(found -> projects.close(found, Actor.of(request)))
                .map(closed -> answer(Response.Status.OK, closed));
    }

    /** All tokens of the project share them, at each instance. */
    @PUT
    @Path("/{project}/limits")
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires(Scope.ADMIN)
    public Uni<Response> limitProject(
            @PathParam("project") String project,
            @Context HttpServerRequest http,
            @Context ContainerRequestContext request) {
        return commands.run(
                        project,
                        http,
                        Limits::read,
                        (found, limits) -> projects.limit(found, limits, Actor.of(request)))
                .map(limited -> answer(Response.Status.OK, limited));
    }

    /** They apply beside the project's limits. */
    @PUT
    @Path("/{project}/tokens/{id}/limits")
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires(Scope.ADMIN)
    public Uni<Response> limitProjectToken(
            @PathParam("project") String project,
            @PathParam("id") String id,
            @Context HttpServerRequest http,
            @Context ContainerRequestContext request) {
        return commands.run(
                        project,
                        http,
                        Limits::read,
                        (found, limits) -> projects.limit(found, tokenId(id), limits, Actor.of(request)))
                .map(limited -> JsonBody.answer(Response.Status.OK, SIZE, limited::write));
    }

    /** In the order in which they were issued. */
    @GET
    @Path("/{project}/tokens")
    @Requires(Scope.AUDIT)
    public Uni<Response> listProjectTokens(@PathParam("project") String project, @Context UriInfo uri) {
        Listed.Part part = Listed.Part.of(uri);
        return projects.find(project)
                .chain(found -> projects.tokens(found, part))
                .map(listed -> listed.answer("tokens", SIZE, token -> token::write));
    }

    /** Only this answer contains the token. */
    @POST
    @Path("/{project}/tokens")
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires(Scope.ADMIN)
    public Uni<Response> createProjectToken(
            @PathParam("project") String project,
            @Context HttpServerRequest http,
            @Context ContainerRequestContext request) {
        return commands.run(
                        project,
                        http,
                        ProjectRequests.NewToken::read,
                        (found, asked) -> projects.issue(found, asked, Actor.of(request)))
                .map(ProjectResource::created);
    }

    /** The old token stays valid for the overlap. Only this answer contains the new one. */
    @POST
    @Path("/{project}/tokens/{id}/rotate")
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires(Scope.ADMIN)
    public Uni<Response> rotateProjectToken(
            @PathParam("project") String project,
            @PathParam("id") String id,
            @Context HttpServerRequest http,
            @Context ContainerRequestContext request) {
        return commands.run(
                        project,
                        http,
                        ProjectRequests.Rotation::read,
                        (found, rotation) ->
                                projects.rotate(found, tokenId(id), rotation.overlapSeconds(), Actor.of(request)))
                .map(ProjectResource::created);
    }

    /** The token stays in the list. */
    @DELETE
    @Path("/{project}/tokens/{id}")
    @Requires(Scope.ADMIN)
    public Uni<Response> revokeProjectToken(
            @PathParam("project") String project,
            @PathParam("id") String id,
            @Context ContainerRequestContext request) {
        UUID token = tokenId(id);
        return projects.find(project)
                .chain(found -> projects.revoke(found, token, Actor.of(request)))
                .map(done -> Response.noContent().build());
    }

    private static UUID tokenId(String text) {
        return ProjectCommands.id(text, "token");
    }

    private static Response answer(Response.Status status, Project project) {
        return JsonBody.answer(status, SIZE, project::write);
    }

    private static Response created(Projects.NewToken made) {
        return JsonBody.answer(Response.Status.CREATED, SIZE, json -> {
            json.writeStartObject();
            json.writeStringField("token", made.token());
            made.issued().writeFields(json);
            json.writeEndObject();
        });
    }
}
