package dev.annals.access.places;

import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.RequestParameters;
import io.smallrye.mutiny.Uni;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.util.List;

/** The service's databases, at {@code /v1/databases}. */
@Path("/v1/databases")
@Produces(MediaType.APPLICATION_JSON)
public class DatabaseResource {

    private static final int SIZE = 256;

    private final DatabaseStates states;

    DatabaseResource(DatabaseStates states) {
        this.states = states;
    }

    /** Home first. */
    @GET
    @Requires(Scope.AUDIT)
    public Uni<Response> listDatabases(@Context UriInfo uri) {
        RequestParameters.requireKnown(uri.getQueryParameters(), List.of());
        return states.all()
                .map(all -> JsonBody.answer(Response.Status.OK, SIZE * all.size(), json -> {
                    json.writeStartObject();
                    json.writeArrayFieldStart("databases");
                    for (DatabaseStates.State state : all) {
                        state.write(json);
                    }
                    json.writeEndArray();
                    json.writeEndObject();
                }));
    }
}
