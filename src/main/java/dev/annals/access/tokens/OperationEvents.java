package dev.annals.access.tokens;

import dev.annals.access.caller.Actor;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.JsonBody;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import jakarta.enterprise.context.ApplicationScoped;
import java.nio.charset.StandardCharsets;
import org.jboss.logging.Logger;

/** Events of the administration's feed about what changes neither projects nor tokens. */
@ApplicationScoped
public class OperationEvents {

    private static final Logger LOG = Logger.getLogger(OperationEvents.class);
    private static final Sql RECORD_OPERATION = Sql.named("access/tokens/record_operation");
    private static final Sql NOTE_STATE = Sql.named("access/tokens/note_state");
    private static final int SIZE = 512;

    private final Pool pool;

    OperationEvents(Pool pool) {
        this.pool = pool;
    }

    /** An operation begins: it may go on once this is done. A hot standby takes no events; there, only the log says so. */
    public Uni<Void> began(Actor actor, String action, String subjectType, String subjectId, JsonBody.Content details) {
        return record(action, subjectType, subjectId, "success", details, actor)
                .onFailure(DatabaseFailure::onlyReads)
                .invoke(standby -> LOG.infof(
                        "%s of %s %s, which has no event: the database is a hot standby",
                        action, subjectType, subjectId))
                .onFailure(DatabaseFailure::onlyReads)
                .recoverWithNull();
    }

    /** So many requests from an address had no valid token. */
    Uni<Void> failed(TokenFailures.Failures failures) {
        return record(
                "annals.authentication.fail",
                "address",
                failures.address() == null ? "others" : failures.address(),
                "failure",
                json -> {
                    json.writeStartObject();
                    json.writeNumberField("count", failures.count());
                    json.writeStringField("from", failures.from().toString());
                    json.writeStringField("to", failures.to().toString());
                    json.writeEndObject();
                },
                new Actor(null, failures.address()));
    }

    /** Something was found that breaks a feed, or may do so. */
    public Uni<Void> unsound(String subjectType, String subjectId, JsonBody.Content details) {
        return record("annals.verification.fail", subjectType, subjectId, "failure", details, Actor.SERVICE);
    }

    /**
     * What is so since this start, which is recorded if it is different from what was so since the last one.
     *
     * @param kind {@code settings} or {@code log_keys}
     * @param state by names; an object in place of a secret
     */
    public Uni<Void> found(String kind, JsonBody.Content state) {
        return DatabaseFailure.retried(NOTE_STATE
                .bind("kind", kind)
                .bind("state", new String(JsonBody.toBytes(SIZE, state), StandardCharsets.UTF_8))
                .execute(pool)
                .replaceWithVoid());
    }

    private Uni<Void> record(
            String action,
            String subjectType,
            String subjectId,
            String outcome,
            JsonBody.Content details,
            Actor actor) {
        return RECORD_OPERATION
                .bind("action", action)
                .bind("subject_type", subjectType)
                .bind("subject_id", subjectId)
                .bind("outcome", outcome)
                .bind("details", new String(JsonBody.toBytes(SIZE, details), StandardCharsets.UTF_8))
                .bind("actor_token", actor.token())
                .bind("address", actor.address())
                .execute(pool)
                .replaceWithVoid();
    }
}
