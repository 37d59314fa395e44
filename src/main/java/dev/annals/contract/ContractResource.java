package dev.annals.contract;

import dev.annals.project.Access;
import dev.annals.project.Requires;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Objects;

/** Serves {@code openapi.yaml}, byte for byte. */
@Path("/q/openapi")
@Requires(Access.PUBLIC)
public class ContractResource {

    private static final String DOCUMENT = "/META-INF/openapi.yaml";

    /** The document, in OpenAPI 3.0.3. */
    @GET
    @Produces("application/yaml;charset=UTF-8")
    public byte[] document() {
        try (InputStream document =
                Objects.requireNonNull(ContractResource.class.getResourceAsStream(DOCUMENT), DOCUMENT)) {
            return document.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + DOCUMENT, e);
        }
    }
}
