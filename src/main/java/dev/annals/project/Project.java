package dev.annals.project;

import com.fasterxml.jackson.core.JsonGenerator;
import io.vertx.mutiny.sqlclient.Row;
import java.io.IOException;
import java.time.OffsetDateTime;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A project.
 *
 * @param closedAt null while it is open
 */
record Project(
        UUID id,
        String name,
        OffsetDateTime createdAt,
        @Nullable OffsetDateTime closedAt) {

    static Project of(Row row) {
        return new Project(
                row.getUUID("id"),
                row.getString("name"),
                row.getOffsetDateTime("created_at"),
                row.getOffsetDateTime("closed_at"));
    }

    void write(JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("id", id.toString());
        json.writeStringField("name", name);
        json.writeStringField("created_at", createdAt.toInstant().toString());
        json.writeStringField(
                "closed_at", closedAt == null ? null : closedAt.toInstant().toString());
        json.writeEndObject();
    }
}
