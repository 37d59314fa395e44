package dev.annals.access.holds;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.kernel.http.RequestFields;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** {@code {"actor_id": "…", "reason": "…"}}, or with {@code subject_id}, or with neither for the whole project. */
record NewHold(@Nullable String actorId, @Nullable String subjectId, String reason) {

    static final int MAX_REASON = 1_024;
    /** Of the ids of actors and subjects in records. */
    private static final int MAX_ID = 1_024;

    static NewHold read(byte[] body) {
        RequestFields fields = new RequestFields(body, Set.of("actor_id", "subject_id", "reason"));
        String actorId = held(fields, "actor_id");
        String subjectId = held(fields, "subject_id");
        if (actorId != null && subjectId != null) {
            fields.wrong("subject_id", "A hold covers an actor or a subject. Set two.");
        }
        String reason = fields.text("reason", MAX_REASON, true);
        fields.requireValid();
        return new NewHold(actorId, subjectId, reason == null ? "" : reason);
    }

    private static @Nullable String held(RequestFields fields, String name) {
        String id = fields.text(name, MAX_ID, false);
        JsonNode value = fields.get(name);
        if (value != null && value.isTextual() && value.textValue().isEmpty()) {
            fields.wrong(name, "It must not be empty.");
        }
        return id;
    }
}
