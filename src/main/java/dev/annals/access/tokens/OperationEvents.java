package dev.annals.access.tokens;

import dev.annals.access.caller.Actor;
import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.JsonBody;
import io.smallrye.mutiny.Uni;
import jakarta.enterprise.context.ApplicationScoped;
import java.nio.charset.StandardCharsets;
import org.jboss.logging.Logger;

/** Events about operations that change no project and no token, in the administration's feed of a database. */
@ApplicationScoped
public class OperationEvents {

    private static final Logger LOG = Logger.getLogger(OperationEvents.class);
    private static final Sql RECORD_OPERATION = Sql.named("access/tokens/record_operation");
    private static final Sql NOTE_STATE = Sql.named("access/tokens/note_state");
    private static final int SIZE = 512;

    private final Database home;

    OperationEvents(Databases databases) {
        this.home = databases.home();
    }

    /**
     * The operation waits for its event. On a hot standby, only the log shows it.
     *
     * @param database on which the operation works
     */
    public Uni<Void> began(
            Database database,
            Actor actor,
            String action,
            String subjectType,
            String subjectId,
            JsonBody.Content details) {
        return record(database, action, subjectType, subjectId, "success", details, actor)
                .onFailure(DatabaseFailure::onlyReads)
                .invoke(standby -> LOG.infof(
                        "%s of %s %s has no event: the database is a hot standby", action, subjectType, subjectId))
                .onFailure(DatabaseFailure::onlyReads)
                .recoverWithNull();
    }

    Uni<Void> failed(TokenFailures.Failures failures) {
        return record(
                home,
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
                new Actor(null, failures.address(), false));
    }

    public Uni<Void> unsound(String subjectType, String subjectId, JsonBody.Content details) {
        return record(home, "annals.verification.fail", subjectType, subjectId, "failure", details, Actor.SERVICE);
    }

    /**
     * Records in home a state of this start if it differs from the last start's.
     *
     * @param kind {@code settings} or {@code log_keys}
     * @param state values by name; an object in place of a secret
     */
    public Uni<Void> found(String kind, JsonBody.Content state) {
        return DatabaseFailure.retried(NOTE_STATE
                .bind("kind", kind)
                .bind("state", new String(JsonBody.toBytes(SIZE, state), StandardCharsets.UTF_8))
                .execute(home.pool())
                .replaceWithVoid());
    }

    private Uni<Void> record(
            Database database,
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
                .execute(database.pool())
                .replaceWithVoid();
    }
}
