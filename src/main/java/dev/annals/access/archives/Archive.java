package dev.annals.access.archives;

import com.fasterxml.jackson.core.JsonGenerator;
import io.vertx.mutiny.sqlclient.Row;
import java.io.IOException;
import java.time.OffsetDateTime;
import java.util.UUID;

/**
 * A file outside the database that has records of a project.
 *
 * @param first the sequence id of its first record
 * @param last that of its last one
 * @param fileName what whoever has made it calls it
 * @param bytes how long it is
 * @param sha256 of the file, in hexadecimal
 */
record Archive(UUID id, long first, long last, String fileName, long bytes, String sha256, OffsetDateTime createdAt) {

    static Archive of(Row row) {
        return new Archive(
                row.getUUID("id"),
                row.getLong("first_sequence_id"),
                row.getLong("last_sequence_id"),
                row.getString("file_name"),
                row.getLong("bytes"),
                row.getString("sha256"),
                row.getOffsetDateTime("created_at"));
    }

    void write(JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("id", id.toString());
        json.writeNumberField("first_sequence_id", first);
        json.writeNumberField("last_sequence_id", last);
        json.writeStringField("file_name", fileName);
        json.writeNumberField("bytes", bytes);
        json.writeStringField("sha256", sha256);
        json.writeStringField("created_at", createdAt.toInstant().toString());
        json.writeEndObject();
    }
}
