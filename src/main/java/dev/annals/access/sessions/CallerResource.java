package dev.annals.access.sessions;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.access.projects.Project;
import dev.annals.access.projects.Projects;
import dev.annals.access.tokens.IssuedToken;
import dev.annals.kernel.http.JsonBody;
import io.smallrye.mutiny.Uni;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.io.IOException;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The project and the scopes of a token: {@code GET /v1/whoami}. */
@Path("/v1/whoami")
@Produces(MediaType.APPLICATION_JSON)
public class CallerResource {

    private static final int SIZE = 1024;

    private final Projects projects;

    CallerResource(Projects projects) {
        this.projects = projects;
    }

    @GET
    @Requires
    public Uni<Response> whoAmI(@Context ContainerRequestContext request) {
        Caller caller = Caller.of(request);
        UUID token = caller.entry() == null ? caller.token() : null;
        return projects.find(caller.projectId().toString())
                .chain(projects::described)
                .chain(project -> token == null
                        ? Uni.createFrom().item(answer(caller, project, null))
                        : projects.token(project.id(), token).map(issued -> answer(caller, project, issued)));
    }

    /** The projects for the header {@code Annals-Project}. */
    @GET
    @Path("/projects")
    @Requires(project = false)
    public Uni<Response> listOpenProjects(@Context ContainerRequestContext request) {
        Identity identity = TokenFilter.identityOf(request);
        if (identity != null) {
            return Uni.createFrom().item(JsonBody.answer(Response.Status.OK, SIZE, json -> {
                json.writeStartObject();
                json.writeArrayFieldStart("projects");
                for (Identity.OpenProject project : identity.projects()) {
                    writeProject(json, project.projectId(), project.name(), project.scopes());
                }
                json.writeEndArray();
                json.writeEndObject();
            }));
        }
        Caller caller = Caller.of(request);
        return projects.find(caller.projectId().toString())
                .map(project -> JsonBody.answer(Response.Status.OK, SIZE, json -> {
                    json.writeStartObject();
                    json.writeArrayFieldStart("projects");
                    writeProject(json, project.id(), project.name(), caller.scopes());
                    json.writeEndArray();
                    json.writeEndObject();
                }));
    }

    private static void writeProject(JsonGenerator json, UUID id, String name, Set<Scope> scopes) throws IOException {
        json.writeStartObject();
        json.writeStringField("id", id.toString());
        json.writeStringField("name", name);
        json.writeArrayFieldStart("scopes");
        for (Scope scope : scopes) {
            json.writeString(scope.text());
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private static Response answer(Caller caller, Project project, @Nullable IssuedToken issued) {
        return JsonBody.answer(Response.Status.OK, SIZE, json -> {
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
            Caller.Entry entry = caller.entry();
            json.writeStringField(
                    "expires_at",
                    entry != null
                            ? entry.expiresAt().toString()
                            : issued == null ? null : IssuedToken.text(issued.expiresAt()));
            if (entry == null) {
                json.writeNullField("identity");
            } else {
                json.writeObjectFieldStart("identity");
                json.writeStringField("id", caller.tokenId().toString());
                json.writeStringField("issuer", entry.issuer());
                json.writeStringField("subject", entry.subject());
                json.writeEndObject();
            }
            json.writeEndObject();
        });
    }
}
