package dev.annals.edges.contract;

import dev.annals.access.caller.Requires;
import dev.annals.kernel.http.PacedBody;
import dev.annals.kernel.http.ProgramFile;
import io.smallrye.common.annotation.NonBlocking;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.Context;

/** Serves {@code openapi.yaml}, byte for byte. */
@Path("/q/openapi")
@Requires(token = false)
public class ContractResource {

    private static final String MEDIA_TYPE = "application/yaml;charset=UTF-8";

    private final ProgramFile document = new ProgramFile("/META-INF/openapi.yaml", MEDIA_TYPE);

    /** OpenAPI 3.0.3. */
    @GET
    @Produces(MEDIA_TYPE)
    @NonBlocking
    public PacedBody document(@Context HttpServerRequest http) {
        return document.answerOf(http);
    }
}
