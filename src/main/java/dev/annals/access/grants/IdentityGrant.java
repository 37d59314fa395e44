package dev.annals.access.grants;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.access.limits.Limits;
import dev.annals.access.tokens.IssuedToken;
import io.vertx.mutiny.sqlclient.Row;
import java.io.IOException;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What opens a project to whoever has a claim.
 *
 * @param issuer the provider that has to say so
 * @param limits of each identity by itself
 * @param revokedAt null while it is in force
 */
record IdentityGrant(
        UUID id,
        String issuer,
        String claim,
        String value,
        List<String> scopes,
        @Nullable String description,
        Limits limits,
        OffsetDateTime createdAt,
        @Nullable OffsetDateTime revokedAt) {

    static IdentityGrant of(Row row) {
        return new IdentityGrant(
                row.getUUID("id"),
                row.getString("issuer"),
                row.getString("claim"),
                row.getString("value"),
                List.of(row.getArrayOfStrings("scopes")),
                row.getString("description"),
                Limits.of(row.getString("limits")),
                row.getOffsetDateTime("created_at"),
                row.getOffsetDateTime("revoked_at"));
    }

    void write(JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("id", id.toString());
        json.writeStringField("issuer", issuer);
        json.writeStringField("claim", claim);
        json.writeStringField("value", value);
        json.writeArrayFieldStart("scopes");
        for (String scope : scopes) {
            json.writeString(scope);
        }
        json.writeEndArray();
        json.writeStringField("description", description);
        json.writeFieldName("limits");
        limits.write(json);
        json.writeStringField("created_at", createdAt.toInstant().toString());
        json.writeStringField("revoked_at", IssuedToken.text(revokedAt));
        json.writeEndObject();
    }
}
