package dev.annals.derived.projection;

import dev.annals.access.caller.Actor;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.access.tokens.OperationEvents;
import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import io.smallrye.mutiny.Multi;
import io.smallrye.mutiny.Uni;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;

/** Administration over HTTP: {@code POST /v1/projections/{name}/rebuild}. */
@Path("/v1/projections/{name}")
@Produces(MediaType.APPLICATION_JSON)
@Requires(Scope.ADMIN)
public class ProjectionResource {

    private static final Sql REBUILD_PROJECTION = Sql.named("derived/projection/rebuild_projection");

    private final Databases databases;
    private final Projectors projectors;
    private final OperationEvents operations;

    ProjectionResource(Databases databases, Projectors projectors, OperationEvents operations) {
        this.databases = databases;
        this.projectors = projectors;
        this.operations = operations;
    }

    /** Returns at once: the rebuild runs in the background, in each database. */
    @POST
    @Path("/rebuild")
    public Uni<Response> rebuildProjection(@PathParam("name") String name, @Context ContainerRequestContext request) {
        if (!projectors.names().contains(name)) {
            throw new ProblemException(
                    ProblemType.NOT_FOUND,
                    "There is no projection with this name. Known: " + String.join(" and ", projectors.names()) + ".");
        }
        return operations
                .began(databases.home(), Actor.of(request), "annals.projection.rebuild", "projection", name, json -> {
                    json.writeStartObject();
                    json.writeEndObject();
                })
                .chain(() -> Multi.createFrom()
                        .iterable(databases.all())
                        .onItem()
                        .transformToUniAndConcatenate(database -> rebuild(name, database))
                        .collect()
                        .asList())
                .map(generations -> answer(name, generations.get(0)));
    }

    private static Uni<Integer> rebuild(String name, Database database) {
        return REBUILD_PROJECTION
                .bind("name", name)
                .execute(database.pool())
                .map(rows -> rows.iterator().next().getInteger("generation"));
    }

    private static Response answer(String name, int generation) {
        return JsonBody.answer(Response.Status.ACCEPTED, 64, json -> {
            json.writeStartObject();
            json.writeStringField("name", name);
            json.writeNumberField("generation", generation);
            json.writeEndObject();
        });
    }
}
