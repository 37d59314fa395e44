package dev.annals.access.grants;

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
import jakarta.ws.rs.DELETE;
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
import java.util.UUID;

/** Grants, at {@code /v1/projects/{project}/grants}. */
@Path("/v1/projects/{project}/grants")
@Produces(MediaType.APPLICATION_JSON)
public class GrantResource {

    private static final int SIZE = 1_024;

    private final Projects projects;
    private final IdentityGrants grants;
    private final ProjectCommands commands;

    GrantResource(Projects projects, IdentityGrants grants, ProjectCommands commands) {
        this.projects = projects;
        this.grants = grants;
        this.commands = commands;
    }

    /** Lists revoked ones, too, in the order in which they were made. */
    @GET
    @Requires(Scope.AUDIT)
    public Uni<Response> listGrants(@PathParam("project") String project, @Context UriInfo uri) {
        Listed.Part part = Listed.Part.of(uri);
        return projects.find(project)
                .chain(found -> grants.list(found, part))
                .map(listed -> listed.answer("grants", SIZE, grant -> grant::write));
    }

    @POST
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires(Scope.ADMIN)
    public Uni<Response> makeGrant(
            @PathParam("project") String project,
            @Context HttpServerRequest http,
            @Context ContainerRequestContext request) {
        return commands.run(
                        project,
                        http,
                        IdentityGrants.NewGrant::read,
                        (found, asked) -> grants.make(found, asked, Actor.of(request)))
                .map(made -> JsonBody.answer(Response.Status.CREATED, SIZE, made::write));
    }

    /** The grant stays in the list. The request may be repeated. */
    @DELETE
    @Path("/{id}")
    @Requires(Scope.ADMIN)
    public Uni<Response> revokeGrant(
            @PathParam("project") String project,
            @PathParam("id") String id,
            @Context ContainerRequestContext request) {
        UUID grant = ProjectCommands.id(id, "grant");
        return projects.find(project)
                .chain(found -> grants.revoke(found, grant, Actor.of(request)))
                .map(done -> Response.noContent().build());
    }
}
