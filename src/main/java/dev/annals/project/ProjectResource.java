package dev.annals.project;

import dev.annals.http.JsonBody;
import dev.annals.http.ProblemException;
import dev.annals.http.ProblemType;
import dev.annals.http.RequestBodies;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.pgclient.PgException;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.util.UUID;

/** Administration over HTTP: {@code POST /v1/projects} and {@code POST /v1/projects/{project}/tokens}. */
@Path("/v1/projects")
@Produces(MediaType.APPLICATION_JSON)
@Consumes(MediaType.APPLICATION_JSON)
@Requires.Admin
public class ProjectResource {

    private static final int MAX_BODY_BYTES = 65_536;

    private final Projects projects;
    private final AccessTokens tokens;
    private final RequestBodies bodies;

    ProjectResource(Projects projects, AccessTokens tokens, RequestBodies bodies) {
        this.bodies = bodies;
        this.projects = projects;
        this.tokens = tokens;
    }

    /** Makes a project. */
    @POST
    public Uni<Response> addProject(@Context HttpServerRequest http) {
        return bodies.read(http, MAX_BODY_BYTES, Scope.ADMIN, body -> {
            ProjectRequests.NewProject project = ProjectRequests.NewProject.read(body);
            return projects.add(project.name())
                    .map(id -> created(
                            "id", id.orElseThrow(ProjectResource::nameTaken).toString(), "name", project.name()));
        });
    }

    /** Makes a token for a project; the answer is the only place where the token is ever shown. */
    @POST
    @Path("/{project}/tokens")
    public Uni<Response> addToken(@PathParam("project") String project, @Context HttpServerRequest http) {
        UUID projectId = parseId(project);
        return bodies.read(http, MAX_BODY_BYTES, Scope.ADMIN, body -> {
                    ProjectRequests.NewToken token = ProjectRequests.NewToken.read(body);
                    return tokens.add(projectId, token.scopes(), token.description());
                })
                .onFailure(ProjectResource::isUnknownProject)
                .transform(failure -> noSuchProject())
                .map(token -> created("id", token.id().toString(), "token", token.token()));
    }

    private static UUID parseId(String id) {
        try {
            return UUID.fromString(id);
        } catch (IllegalArgumentException e) {
            throw noSuchProject();
        }
    }

    private static boolean isUnknownProject(Throwable failure) {
        return failure instanceof PgException error && "access_token_project_fkey".equals(error.getConstraint());
    }

    private static ProblemException nameTaken() {
        return new ProblemException(
                ProblemType.PROJECT_NAME_TAKEN, "There is a project with this name. Choose another name.");
    }

    private static ProblemException noSuchProject() {
        return new ProblemException(ProblemType.NOT_FOUND, "There is no project with this id.");
    }

    private static Response created(String firstName, String firstValue, String secondName, String secondValue) {
        byte[] body = JsonBody.toBytes(256, json -> {
            json.writeStartObject();
            json.writeStringField(firstName, firstValue);
            json.writeStringField(secondName, secondValue);
            json.writeEndObject();
        });
        return Response.status(Response.Status.CREATED).entity(body).build();
    }
}
