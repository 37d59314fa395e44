package dev.annals.derived.alert;

import dev.annals.access.caller.Actor;
import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.RequestBodies;
import dev.annals.kernel.http.RequestParameters;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.DELETE;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.PUT;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.util.UUID;

/** Alerts over HTTP, at {@code /v1/alerts}. */
@Path("/v1/alerts")
@Produces(MediaType.APPLICATION_JSON)
@Requires(Scope.STREAM)
public class AlertResource {

    private static final int SIZE = 1_024;

    private final Alerts alerts;
    private final RequestBodies bodies;

    AlertResource(Alerts alerts, RequestBodies bodies) {
        this.alerts = alerts;
        this.bodies = bodies;
    }

    @GET
    public Uni<Response> listAlerts(@Context ContainerRequestContext request) {
        return alerts.list(Caller.of(request).projectId())
                .map(found -> JsonBody.answer("alerts", SIZE, found, Alert::write));
    }

    @PUT
    @Path("/{name}")
    @Consumes(MediaType.APPLICATION_JSON)
    public Uni<Response> setAlert(
            @PathParam("name") String name, @Context HttpServerRequest http, @Context ContainerRequestContext request) {
        RequestParameters.requireName(name);
        UUID projectId = Caller.of(request).projectId();
        return bodies.readCommand(
                        http,
                        projectId,
                        body -> alerts.set(projectId, name, AlertRequest.read(body), Actor.of(request)))
                .map(defined -> JsonBody.answer(
                        defined.created() ? Response.Status.CREATED : Response.Status.OK,
                        SIZE,
                        defined.alert()::write));
    }

    @GET
    @Path("/{name}")
    public Uni<Response> getAlert(@PathParam("name") String name, @Context ContainerRequestContext request) {
        RequestParameters.requireName(name);
        return alerts.find(Caller.of(request).projectId(), name)
                .map(alert -> JsonBody.answer(Response.Status.OK, SIZE, alert::write));
    }

    /** Its events stay. */
    @DELETE
    @Path("/{name}")
    public Uni<Response> deleteAlert(@PathParam("name") String name, @Context ContainerRequestContext request) {
        RequestParameters.requireName(name);
        return alerts.delete(Caller.of(request).projectId(), name, Actor.of(request))
                .map(deleted -> Response.noContent().build());
    }
}
