package dev.annals.access.look;

import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.kernel.http.JsonBody;
import io.smallrye.mutiny.Uni;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;

/** {@code GET /v1/look}: the look of the caller's project, and what the caller may do in the viewer. */
@Path("/v1/look")
@Produces(MediaType.APPLICATION_JSON)
public class ShownLookResource {

    private final Looks looks;

    ShownLookResource(Looks looks) {
        this.looks = looks;
    }

    @GET
    @Requires(Scope.VIEW)
    public Uni<Response> showLook(@Context ContainerRequestContext request) {
        Caller caller = Caller.of(request);
        return looks.find(caller.projectId())
                .map(look -> JsonBody.answer(Response.Status.OK, look.size(), json -> {
                    json.writeStartObject();
                    look.writeShown(json);
                    json.writeBooleanField("whole_project", caller.view() == null);
                    Caller.writeCapabilities(json, caller::may);
                    json.writeEndObject();
                }));
    }
}
