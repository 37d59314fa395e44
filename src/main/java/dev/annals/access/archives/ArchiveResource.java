package dev.annals.access.archives;

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

/** Descriptions of archives, at {@code /v1/projects/{project}/archives}. The files are elsewhere. */
@Path("/v1/projects/{project}/archives")
@Produces(MediaType.APPLICATION_JSON)
public class ArchiveResource {

    private static final int SIZE = 512;

    private final Projects projects;
    private final Archives archives;
    private final ProjectCommands commands;

    ArchiveResource(Projects projects, Archives archives, ProjectCommands commands) {
        this.projects = projects;
        this.archives = archives;
        this.commands = commands;
    }

    @GET
    @Requires(Scope.AUDIT)
    public Uni<Response> listArchives(@PathParam("project") String project, @Context UriInfo uri) {
        Listed.Part part = Listed.Part.of(uri);
        return projects.find(project)
                .chain(found -> archives.list(found, part))
                .map(listed -> listed.answer("archives", SIZE, archive -> archive::write));
    }

    /** The request may be repeated. */
    @POST
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires(Scope.ADMIN)
    public Uni<Response> noteArchive(
            @PathParam("project") String project,
            @Context HttpServerRequest http,
            @Context ContainerRequestContext request) {
        return commands.run(
                        project,
                        http,
                        Archives.NewArchive::read,
                        (found, made) -> archives.note(found, made, Actor.of(request)))
                .map(archive -> JsonBody.answer(Response.Status.CREATED, SIZE, archive::write));
    }
}
