package dev.annals.project;

import dev.annals.http.JsonBody;
import io.smallrye.mutiny.Uni;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** What a token is good for: {@code GET /v1/whoami}. */
@Path("/v1/whoami")
@Produces(MediaType.APPLICATION_JSON)
public class CallerResource {

    private static final int SIZE = 1024;

    private final Projects projects;

    CallerResource(Projects projects) {
        this.projects = projects;
    }

    /** The project and the token of the caller. */
    @GET
    @Requires.Token
    public Uni<Response> whoAmI(@Context ContainerRequestContext request) {
        Caller caller = Caller.of(request);
        UUID token = caller.token();
        return projects.find(caller.projectId().toString())
                .chain(project -> token == null
                        ? Uni.createFrom().item(answer(caller, project, null))
                        : projects.token(project.id(), token).map(issued -> answer(caller, project, issued)));
    }

    private static Response answer(Caller caller, Project project, @Nullable IssuedToken issued) {
        byte[] body = JsonBody.toBytes(SIZE, json -> {
            json.writeStartObject();
            json.writeFieldName("project");
            project.write(json);
            json.writeArrayFieldStart("scopes");
            for (Scope scope : caller.scopes()) {
                json.writeString(scope.text());
            }
            json.writeEndArray();
            json.writeStringField(
                    "token_id", issued == null ? null : issued.id().toString());
            json.writeStringField("description", issued == null ? null : issued.description());
            json.writeStringField("expires_at", issued == null ? null : IssuedToken.text(issued.expiresAt()));
            json.writeEndObject();
        });
        return Response.ok(body).build();
    }
}
