package dev.annals.kernel.http;

import dev.annals.access.caller.Requires;
import io.smallrye.mutiny.Uni;
import io.vertx.ext.web.Router;
import jakarta.enterprise.event.Observes;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.NotAuthorizedException;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.QueryParam;
import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.core.Response;
import java.net.URI;
import java.time.Duration;
import java.util.List;

/** Fails in every way a resource can. */
@Path("/failing")
@Requires(token = false)
@Produces("application/json")
public class FailingResource {

    @GET
    @Path("problem")
    public Uni<String> problem() {
        return Uni.createFrom()
                .failure(new ProblemException(Problem.of(ProblemType.INVALID_RECORD, "Correct it")
                        .withErrors(List.of(new FieldError("/0/actor/type", "must be a string")))
                        .with("head", 17L)));
    }

    @GET
    @Path("queue-full")
    public Uni<String> queueFull() {
        throw new ProblemException(
                Problem.of(ProblemType.QUEUE_FULL, "Try again").withRetryAfter(Duration.ofMillis(2_100)));
    }

    @GET
    @Path("unexpected")
    public Uni<String> unexpected() {
        throw new IllegalStateException("the password is hunter2");
    }

    @GET
    @Path("unexpected/{name}")
    public Uni<String> unexpectedOf(@PathParam("name") String name) {
        throw new IllegalStateException(name.length() + " characters");
    }

    @GET
    @Path("unexpected-later")
    public Uni<String> unexpectedLater() {
        return Uni.createFrom().failure(new java.io.IOException("dev.annals.Secret"));
    }

    @GET
    @Path("error")
    public Uni<String> error() {
        throw new StackOverflowError();
    }

    @GET
    @Path("status")
    public Uni<String> status(@QueryParam("of") int status) {
        throw new WebApplicationException("dev.annals.Secret", status);
    }

    @GET
    @Path("status-with-entity")
    public Uni<String> statusWithEntity() {
        throw new WebApplicationException(Response.status(410)
                .entity("dev.annals.Secret")
                .type("text/plain")
                .build());
    }

    @GET
    @Path("bare-status")
    public Response bareStatus() {
        return Response.status(503).build();
    }

    @GET
    @Path("unauthorized")
    public Uni<String> unauthorized() {
        throw new NotAuthorizedException("Basic realm=x");
    }

    @GET
    @Path("redirect")
    public Response redirect() {
        throw new WebApplicationException(
                Response.seeOther(URI.create("/elsewhere")).build());
    }

    @POST
    @Path("body")
    @Consumes("application/json")
    public Uni<String> body(byte[] body) {
        return Uni.createFrom().item(String.valueOf(body.length));
    }

    void routes(@Observes Router router) {
        router.get("/failing-route/unexpected").handler(routing -> {
            throw new IllegalStateException("the password is hunter2");
        });
        router.get("/failing-route/problem")
                .handler(routing -> routing.fail(new ProblemException(ProblemType.UNAVAILABLE, "Try again")));
        router.get("/failing-route/status").handler(routing -> routing.fail(413));
    }
}
