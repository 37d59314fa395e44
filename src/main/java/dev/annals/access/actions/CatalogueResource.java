package dev.annals.access.actions;

import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import io.smallrye.mutiny.Uni;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;

/** The catalogue of the token's project, at {@code /v1/actions}. */
@Path("/v1/actions")
@Produces(MediaType.APPLICATION_JSON)
public class CatalogueResource {

    private final Catalogues catalogues;

    CatalogueResource(Catalogues catalogues) {
        this.catalogues = catalogues;
    }

    @GET
    @Requires(Scope.READ)
    public Uni<Response> listActions(@Context ContainerRequestContext request) {
        return catalogues.of(Caller.of(request)).map(ActionResource::answer);
    }
}
