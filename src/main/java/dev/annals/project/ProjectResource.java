package dev.annals.project;

import dev.annals.http.JsonBody;
import dev.annals.http.ProblemException;
import dev.annals.http.ProblemType;
import dev.annals.http.RequestBodies;
import dev.annals.http.RequestParameters;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.DELETE;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.PATCH;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.MultivaluedMap;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.util.List;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Administration over HTTP: projects and their tokens, at {@code /v1/projects}. A project is named by its id or its name. */
@Path("/v1/projects")
@Produces(MediaType.APPLICATION_JSON)
public class ProjectResource {

    private static final int MAX_BODY_BYTES = 65_536;
    private static final int DEFAULT_LIMIT = 50;
    private static final int MAX_LIMIT = 200;
    private static final UUID FIRST = new UUID(0, 0);
    /** Of an answer that has no lists. */
    private static final int SIZE = 512;

    private final Projects projects;
    private final RequestBodies bodies;

    ProjectResource(Projects projects, RequestBodies bodies) {
        this.projects = projects;
        this.bodies = bodies;
    }

    /** Some of the projects, in the order in which they were made. */
    @GET
    @Requires.Audit
    public Uni<Response> list(@Context UriInfo uri) {
        return projects.list(after(uri), limit(uri))
                .map(listed -> listed("projects", listed, project -> project::write));
    }

    /** Makes a project. */
    @POST
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires.Admin
    public Uni<Response> create(@Context HttpServerRequest http, @Context ContainerRequestContext request) {
        return bodies.read(
                http,
                MAX_BODY_BYTES,
                Scope.ADMIN,
                body -> projects.create(ProjectRequests.NewProject.read(body).name(), actor(request))
                        .map(project -> answer(Response.Status.CREATED, project)));
    }

    /** One project. */
    @GET
    @Path("/{project}")
    @Requires.Audit
    public Uni<Response> get(@PathParam("project") String project) {
        return projects.find(project).map(found -> answer(Response.Status.OK, found));
    }

    /** Renames a project. */
    @PATCH
    @Path("/{project}")
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires.Admin
    public Uni<Response> rename(
            @PathParam("project") String project,
            @Context HttpServerRequest http,
            @Context ContainerRequestContext request) {
        return bodies.read(http, MAX_BODY_BYTES, Scope.ADMIN, body -> {
            String name = ProjectRequests.NewProject.read(body).name();
            return projects.find(project)
                    .chain(found -> projects.rename(found, name, actor(request)))
                    .map(renamed -> answer(Response.Status.OK, renamed));
        });
    }

    /** Closes a project: it takes no more records, and still serves those that it has. */
    @POST
    @Path("/{project}/close")
    @Requires.Admin
    public Uni<Response> close(@PathParam("project") String project, @Context ContainerRequestContext request) {
        return projects.find(project)
                .chain(found -> projects.close(found, actor(request)))
                .map(closed -> answer(Response.Status.OK, closed));
    }

    /** Some of a project's tokens, in the order in which they were made. */
    @GET
    @Path("/{project}/tokens")
    @Requires.Audit
    public Uni<Response> listTokens(@PathParam("project") String project, @Context UriInfo uri) {
        UUID after = after(uri);
        int limit = limit(uri);
        return projects.find(project)
                .chain(found -> projects.tokens(found, after, limit))
                .map(listed -> listed("tokens", listed, token -> token::write));
    }

    /** Makes a token for a project; the answer is the only place where the token is ever shown. */
    @POST
    @Path("/{project}/tokens")
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires.Admin
    public Uni<Response> issueToken(
            @PathParam("project") String project,
            @Context HttpServerRequest http,
            @Context ContainerRequestContext request) {
        return bodies.read(http, MAX_BODY_BYTES, Scope.ADMIN, body -> {
            ProjectRequests.NewToken asked = ProjectRequests.NewToken.read(body);
            return projects.find(project)
                    .chain(found -> projects.issue(found, asked, actor(request)))
                    .map(ProjectResource::created);
        });
    }

    /** Makes a token in the place of another one, which stays valid for a while. */
    @POST
    @Path("/{project}/tokens/{id}/rotate")
    @Consumes(MediaType.APPLICATION_JSON)
    @Requires.Admin
    public Uni<Response> rotateToken(
            @PathParam("project") String project,
            @PathParam("id") String id,
            @Context HttpServerRequest http,
            @Context ContainerRequestContext request) {
        return bodies.read(http, MAX_BODY_BYTES, Scope.ADMIN, body -> {
            int overlap = ProjectRequests.Rotation.read(body).overlapSeconds();
            UUID token = tokenId(id);
            return projects.find(project)
                    .chain(found -> projects.rotate(found, token, overlap, actor(request)))
                    .map(ProjectResource::created);
        });
    }

    /** Revokes a token. What is known of it stays. */
    @DELETE
    @Path("/{project}/tokens/{id}")
    @Requires.Admin
    public Uni<Response> revokeToken(
            @PathParam("project") String project,
            @PathParam("id") String id,
            @Context ContainerRequestContext request) {
        UUID token = tokenId(id);
        return projects.find(project)
                .chain(found -> projects.revoke(found, token, actor(request)))
                .map(done -> Response.noContent().build());
    }

    private static Projects.Actor actor(ContainerRequestContext request) {
        return new Projects.Actor(Caller.of(request).token(), Caller.addressOf(request));
    }

    private static UUID tokenId(String text) {
        try {
            return UUID.fromString(text);
        } catch (IllegalArgumentException e) {
            throw new ProblemException(ProblemType.NOT_FOUND, "The project has no token with this id.");
        }
    }

    private static UUID after(UriInfo uri) {
        String text = parameter(uri, "after");
        try {
            return text == null ? FIRST : UUID.fromString(text);
        } catch (IllegalArgumentException e) {
            throw RequestParameters.invalid("after", "It must be the next of the answer before.");
        }
    }

    private static int limit(UriInfo uri) {
        String text = parameter(uri, "limit");
        if (text == null) {
            return DEFAULT_LIMIT;
        }
        if (!text.matches("[0-9]{1,3}") || Integer.parseInt(text) < 1 || Integer.parseInt(text) > MAX_LIMIT) {
            throw RequestParameters.invalid("limit", "It must be a number from 1 to " + MAX_LIMIT + ".");
        }
        return Integer.parseInt(text);
    }

    private static @Nullable String parameter(UriInfo uri, String name) {
        MultivaluedMap<String, String> parameters = uri.getQueryParameters();
        RequestParameters.requireKnown(parameters, List.of("after", "limit"));
        return parameters.getFirst(name);
    }

    private static <T> Response listed(String name, Projects.Listed<T> listed, Function<T, JsonBody.Content> content) {
        byte[] body = JsonBody.toBytes(SIZE * (1 + listed.items().size()), json -> {
            json.writeStartObject();
            json.writeArrayFieldStart(name);
            for (T item : listed.items()) {
                content.apply(item).write(json);
            }
            json.writeEndArray();
            json.writeStringField(
                    "next", listed.next() == null ? null : listed.next().toString());
            json.writeEndObject();
        });
        return Response.ok(body).build();
    }

    private static Response answer(Response.Status status, Project project) {
        return Response.status(status)
                .entity(JsonBody.toBytes(SIZE, project::write))
                .build();
    }

    private static Response created(Projects.NewToken made) {
        byte[] body = JsonBody.toBytes(SIZE, json -> {
            json.writeStartObject();
            json.writeStringField("token", made.token());
            made.issued().writeFields(json);
            json.writeEndObject();
        });
        return Response.status(Response.Status.CREATED).entity(body).build();
    }
}
