package dev.annals.access.holds;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.access.tokens.IssuedToken;
import io.vertx.mutiny.sqlclient.Row;
import java.io.IOException;
import java.time.OffsetDateTime;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A legal hold: it stops the redaction of what it covers, and the retention of its project.
 *
 * @param actorId whose records it covers; null for all records, or those of a subject
 * @param subjectId the records about whom it covers; null for all records, or those of an actor
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

    public void write(JsonGenerator json) throws IOException {
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
