package dev.annals.access.grants;

import com.fasterxml.jackson.core.JsonGenerator;
import io.vertx.mutiny.sqlclient.Row;
import java.io.IOException;
import java.time.OffsetDateTime;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * An identity that came by at least one grant.
 *
 * @param subject as its provider calls it; null if it was forgotten
 */
record KnownIdentity(UUID id, String issuer, @Nullable String subject, OffsetDateTime createdAt) {

    static KnownIdentity of(Row row) {
        return new KnownIdentity(
                row.getUUID("id"),
                row.getString("issuer"),
                row.getString("subject"),
                row.getOffsetDateTime("created_at"));
    }

    void write(JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("id", id.toString());
        json.writeStringField("issuer", issuer);
        json.writeStringField("subject", subject);
        json.writeStringField("created_at", createdAt.toInstant().toString());
        json.writeEndObject();
    }
}
