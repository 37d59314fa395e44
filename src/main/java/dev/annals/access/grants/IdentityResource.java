package dev.annals.access.grants;

import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.access.projects.Listed;
import io.smallrye.mutiny.Uni;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;

/** The identities that have used a grant: {@code GET /v1/identities}. */
@Path("/v1/identities")
@Produces(MediaType.APPLICATION_JSON)
public class IdentityResource {

    private static final int SIZE = 256;

    private final IdentityGrants grants;

    IdentityResource(IdentityGrants grants) {
        this.grants = grants;
    }

    /** In the order of their ids. */
    @GET
    @Requires(Scope.AUDIT)
    public Uni<Response> listIdentities(@Context UriInfo uri) {
        return grants.identities(Listed.Part.of(uri))
                .map(listed -> listed.answer("identities", SIZE, identity -> identity::write));
    }
}
