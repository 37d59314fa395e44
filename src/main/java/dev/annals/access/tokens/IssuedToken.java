package dev.annals.access.tokens;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.access.limits.Limits;
import io.vertx.mutiny.sqlclient.Row;
import java.io.IOException;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** A token's properties without the token itself. */
public record IssuedToken(
        UUID id,
        List<String> scopes,
        List<String> allowedAddresses,
        @Nullable String description,
        OffsetDateTime createdAt,
        @Nullable OffsetDateTime expiresAt,
        @Nullable OffsetDateTime revokedAt,
        @Nullable UUID replacedBy,
        @Nullable OffsetDateTime lastUsedAt,
        Limits limits,
        @Nullable UUID issuedBy,
        @Nullable String actorId,
        @Nullable String subjectId) {

    public static IssuedToken of(Row row) {
        return new IssuedToken(
                row.getUUID("id"),
                List.of(row.getArrayOfStrings("scopes")),
                List.of(row.getArrayOfStrings("allowed_addresses")),
                row.getString("description"),
                row.getOffsetDateTime("created_at"),
                row.getOffsetDateTime("expires_at"),
                row.getOffsetDateTime("revoked_at"),
                row.getUUID("replaced_by"),
                row.getOffsetDateTime("last_used_at"),
                Limits.of(row.getString("limits")),
                row.getUUID("issued_by"),
                row.getString("actor_id"),
                row.getString("subject_id"));
    }

    public void write(JsonGenerator json) throws IOException {
        json.writeStartObject();
        writeFields(json);
        json.writeEndObject();
    }

    public void writeFields(JsonGenerator json) throws IOException {
        json.writeStringField("id", id.toString());
        writeTexts(json, "scopes", scopes);
        writeTexts(json, "allowed_addresses", allowedAddresses);
        json.writeStringField("description", description);
        json.writeStringField("created_at", createdAt.toInstant().toString());
        json.writeStringField("expires_at", text(expiresAt));
        json.writeStringField("revoked_at", text(revokedAt));
        json.writeStringField("replaced_by", replacedBy == null ? null : replacedBy.toString());
        json.writeStringField("last_used_at", text(lastUsedAt));
        json.writeFieldName("limits");
        limits.write(json);
        json.writeStringField("issued_by", issuedBy == null ? null : issuedBy.toString());
        json.writeStringField("actor_id", actorId);
        json.writeStringField("subject_id", subjectId);
    }

    private static void writeTexts(JsonGenerator json, String name, List<String> texts) throws IOException {
        json.writeArrayFieldStart(name);
        for (String text : texts) {
            json.writeString(text);
        }
        json.writeEndArray();
    }

    public static @Nullable String text(@Nullable OffsetDateTime time) {
        return time == null ? null : time.toInstant().toString();
    }
}
