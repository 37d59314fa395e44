package dev.annals.derived.redaction;

import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.core.feed.DatabaseReader;
import dev.annals.core.feed.FeedLinks;
import dev.annals.core.feed.FeedQuery;
import dev.annals.core.feed.PageAnswers;
import dev.annals.core.record.RecordEncoder;
import dev.annals.kernel.http.RequestBodies;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.util.UUID;

/** Redaction over HTTP: {@code POST /v1/project-logs/{id}/redactions}. */
@Path(FeedLinks.PATH + "/{id}/redactions")
@Produces(MediaType.APPLICATION_JSON)
@Consumes(MediaType.APPLICATION_JSON)
public class RedactionResource {

    private final Redactions redactions;
    private final RequestBodies bodies;
    private final PageAnswers answers;

    RedactionResource(Redactions redactions, RequestBodies bodies, PageAnswers answers) {
        this.redactions = redactions;
        this.bodies = bodies;
        this.answers = answers;
    }

    /** Idempotent. Returns the record if the token may read it. */
    @POST
    @Requires(Scope.REDACT)
    public Uni<Response> redactProjectLog(
            @Context HttpServerRequest http, @PathParam("id") String id, @Context ContainerRequestContext request) {
        Caller caller = Caller.of(request);
        UUID projectId = caller.projectId();
        return bodies.readCommand(http, projectId, body -> {
            RedactionRequest redaction = RedactionRequest.read(body);
            Redactions.Target target = new Redactions.Target(
                    projectId,
                    DatabaseReader.id(id),
                    caller.tokenId(),
                    Caller.addressOf(request),
                    caller.may(Scope.READ));
            return answers.within(
                    projectId,
                    FeedQuery.LARGEST_RECORD,
                    held -> redactions
                            .redact(target, redaction)
                            .map(record -> target.mayRead()
                                    ? answers.body(
                                            http, RecordEncoder.toBytes(record), MediaType.APPLICATION_JSON, held)
                                    : Response.noContent().build()));
        });
    }
}
