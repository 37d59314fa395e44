package dev.annals.core.feed;

import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Requires;
import dev.annals.access.caller.Scope;
import dev.annals.access.caller.View;
import dev.annals.core.record.AuditRecord.Party;
import dev.annals.core.record.StoredRecord;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpServerRequest;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** One record over HTTP: {@code GET /v1/project-logs/{id}}. */
@Path(FeedLinks.PATH)
@Produces(MediaType.APPLICATION_JSON)
public class RecordResource {

    private final FeedReader reader;
    /** Other addresses at this level. The framework would take their names for ids. */
    private static final Set<String> TAKES_POST_ALONE = Set.of("batch", "import");

    private final PageAnswers answers;

    RecordResource(FeedReader reader, PageAnswers answers) {
        this.reader = reader;
        this.answers = answers;
    }

    /** One record of the token's project. */
    @GET
    @Path("/{id}")
    @Requires(Scope.VIEW)
    public Uni<Response> getProjectLog(
            @Context HttpServerRequest http, @PathParam("id") String id, @Context ContainerRequestContext request) {
        if (TAKES_POST_ALONE.contains(id)) {
            throw new WebApplicationException(Response.Status.METHOD_NOT_ALLOWED);
        }
        Caller caller = Caller.of(request);
        UUID projectId = caller.projectId();
        return answers.within(
                projectId,
                FeedQuery.LARGEST_RECORD,
                held -> reader.require(projectId, id)
                        .invoke(record -> requireShown(caller.view(), record))
                        .map(record -> answers.record(http, record, held)));
    }

    private static void requireShown(@Nullable View view, StoredRecord found) {
        Party actor = found.record().actor();
        Party subject = found.record().subject();
        if (view != null && !view.shows(actor == null ? null : actor.id(), subject == null ? null : subject.id())) {
            throw FeedReader.noSuchRecord();
        }
    }
}
