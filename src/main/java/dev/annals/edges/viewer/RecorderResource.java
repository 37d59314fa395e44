package dev.annals.edges.viewer;

import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.guid.CanonicalGuid;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.RequestParameters;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.UriInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The names of a project's recorders: {@code GET /v1/recorders}. Records show readers the id of the token; its description says no more
 * than that. A viewer link's customer sees neither descriptions nor persons.
 */
@Path("/v1/recorders")
@Produces(MediaType.APPLICATION_JSON)
public class RecorderResource {

    private static final Sql FIND_RECORDERS = Sql.named("edges/viewer/find_recorders");
    private static final String RECORDED_BY = "recorded_by";
    private static final List<String> KINDS = List.of("token:", "identity:");
    /** A URL has room for them. */
    private static final int MOST = 50;

    private static final int SIZE = 128;

    private final Pool pool;

    RecorderResource(Databases databases) {
        this.pool = databases.home().reads();
    }

    private record Recorder(
            String recordedBy, String name, @Nullable String issuer) {}

    /** Leaves out recorders that have no name in this project. */
    @GET
    @Requires(Scope.READ)
    public Uni<Response> nameRecorders(@Context UriInfo uri, @Context ContainerRequestContext request) {
        RequestParameters.requireKnown(uri.getQueryParameters(), List.of(RECORDED_BY));
        UUID[] ids = ids(uri.getQueryParameters().getFirst(RECORDED_BY));
        return DatabaseFailure.retried(FIND_RECORDERS
                        .bind("project_id", Caller.of(request).projectId())
                        .bind("id", ids)
                        .execute(pool))
                .map(rows -> rows.stream()
                        .map(row -> new Recorder(
                                row.getString("recorded_by"), row.getString("name"), row.getString("issuer")))
                        .toList())
                .map(found -> JsonBody.answer("recorders", SIZE, found, (recorder, json) -> {
                    json.writeStartObject();
                    json.writeStringField(RECORDED_BY, recorder.recordedBy());
                    json.writeStringField("name", recorder.name());
                    json.writeStringField("issuer", recorder.issuer());
                    json.writeEndObject();
                }));
    }

    private static UUID[] ids(@Nullable String given) {
        String[] names = given == null ? new String[0] : given.split(",", MOST + 1);
        List<UUID> ids = new ArrayList<>();
        for (String name : names) {
            KINDS.stream()
                    .filter(name::startsWith)
                    .map(kind -> CanonicalGuid.parse(name.substring(kind.length())))
                    .findFirst()
                    .ifPresent(ids::add);
        }
        if (names.length == 0 || names.length > MOST || ids.size() < names.length) {
            throw RequestParameters.invalid(
                    RECORDED_BY,
                    "It is 1 to " + MOST + " recorders of records, separated by commas: token:… or identity:….");
        }
        return ids.toArray(UUID[]::new);
    }
}
