package dev.annals.access.holds;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.access.caller.Actor;
import dev.annals.access.places.Places;
import dev.annals.access.projects.Listed;
import dev.annals.access.projects.Project;
import dev.annals.access.projects.Projects;
import dev.annals.access.tokens.IssuedToken;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.guid.SequentialGuid;
import dev.annals.kernel.http.RequestFields;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Row;
import jakarta.enterprise.context.ApplicationScoped;
import java.io.IOException;
import java.time.OffsetDateTime;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Legal holds of projects. A function of the schema makes each change and appends its event: see R__50_legal_hold.sql. */
@ApplicationScoped
class Holds {

    private static final Sql LIST_HOLDS = Sql.named("access/holds/list_holds");
    private static final Sql FIND_HOLD = Sql.named("access/holds/find_hold");
    private static final Sql SET_HOLD = Sql.named("access/holds/set_hold");
    private static final Sql LIFT_HOLD = Sql.named("access/holds/lift_hold");
    private static final int MAX_REASON = 1_024;
    /** As in records. */
    private static final int MAX_ID = 1_024;

    private final Places places;
    private final SequentialGuid guids;

    Holds(Places places, SequentialGuid guids) {
        this.places = places;
        this.guids = guids;
    }

    /**
     * Stops the redaction of the records that it covers, and the retention of its project. Without actor and subject it covers
     * all records.
     *
     * @param liftedAt null while it is in force
     */
    record Hold(
            UUID id,
            @Nullable String actorId,
            @Nullable String subjectId,
            String reason,
            OffsetDateTime createdAt,
            @Nullable OffsetDateTime liftedAt,
            @Nullable String liftReason) {

        static Hold of(Row row) {
            return new Hold(
                    row.getUUID("id"),
                    row.getString("actor_id"),
                    row.getString("subject_id"),
                    row.getString("reason"),
                    row.getOffsetDateTime("created_at"),
                    row.getOffsetDateTime("lifted_at"),
                    row.getString("lift_reason"));
        }

        void write(JsonGenerator json) throws IOException {
            json.writeStartObject();
            json.writeStringField("id", id.toString());
            json.writeStringField("actor_id", actorId);
            json.writeStringField("subject_id", subjectId);
            json.writeStringField("reason", reason);
            json.writeStringField("created_at", createdAt.toInstant().toString());
            json.writeStringField("lifted_at", IssuedToken.text(liftedAt));
            json.writeStringField("lift_reason", liftReason);
            json.writeEndObject();
        }
    }

    /** {@code {"actor_id": "…", "reason": "…"}}, or with {@code subject_id}, or with neither for the whole project. */
    record NewHold(@Nullable String actorId, @Nullable String subjectId, String reason) {

        static NewHold read(byte[] body) {
            RequestFields fields = new RequestFields(body, Set.of("actor_id", "subject_id", "reason"));
            String actorId = id(fields, "actor_id");
            String subjectId = id(fields, "subject_id");
            if (actorId != null && subjectId != null) {
                fields.wrong("subject_id", "A hold covers an actor or a subject. Set two.");
            }
            String reason = fields.text("reason", MAX_REASON, true);
            fields.requireValid();
            return new NewHold(actorId, subjectId, reason == null ? "" : reason);
        }

        private static @Nullable String id(RequestFields fields, String name) {
            String id = fields.text(name, MAX_ID, false);
            JsonNode value = fields.get(name);
            if (value != null && value.isTextual() && value.textValue().isEmpty()) {
                fields.wrong(name, "It must not be empty.");
            }
            return id;
        }
    }

    static String readReason(byte[] body) {
        RequestFields fields = new RequestFields(body, Set.of("reason"));
        String reason = fields.text("reason", MAX_REASON, true);
        fields.requireValid();
        return reason == null ? "" : reason;
    }

    Uni<Listed<Hold>> list(Project project, Listed.Part part) {
        return places.on(
                project.id(),
                database ->
                        part.read(LIST_HOLDS.bind("project_id", project.id()), database.pool(), Hold::of, Hold::id));
    }

    /** Records that it covers cannot be redacted once the answer arrives. */
    Uni<Hold> set(Project project, NewHold asked, Actor actor) {
        UUID id = guids.next();
        return places.on(
                        project.id(),
                        database -> Projects.run(
                                SET_HOLD.bind("project_id", project.id())
                                        .bind("id", id)
                                        .bind("actor_id", asked.actorId())
                                        .bind("subject_id", asked.subjectId())
                                        .bind("reason", asked.reason()),
                                actor,
                                database.pool()))
                .chain(() -> find(project, id));
    }

    /** A lifted hold stays lifted. */
    Uni<Hold> lift(Project project, UUID id, String reason, Actor actor) {
        return places.on(
                        project.id(),
                        database -> Projects.run(
                                LIFT_HOLD
                                        .bind("project_id", project.id())
                                        .bind("id", id)
                                        .bind("reason", reason),
                                actor,
                                database.pool()))
                .chain(() -> find(project, id));
    }

    private Uni<Hold> find(Project project, UUID id) {
        return places.on(
                project.id(),
                database -> Projects.one(
                        FIND_HOLD.bind("project_id", project.id()).bind("id", id), database.pool(), Hold::of, "hold"));
    }
}
