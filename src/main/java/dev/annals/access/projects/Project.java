package dev.annals.access.projects;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.access.limits.Limits;
import io.vertx.mutiny.sqlclient.Row;
import java.io.IOException;
import java.time.OffsetDateTime;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A project.
 *
 * @param closedAt null while it is open
 * @param retentionDays null for no expiry
 * @param database its name
 * @param oldestSequenceId of the oldest record left, or else of the next one; null, as the next two, if it is not known
 * @param archiveRequired true if records expire only after they were archived
 * @param archivedThrough 0 for none
 * @param awaitsArchive true if records would expire now if they were archived
 */
public record Project(
        UUID id,
        String name,
        String database,
        OffsetDateTime createdAt,
        @Nullable OffsetDateTime closedAt,
        @Nullable Integer retentionDays,
        @Nullable Long oldestSequenceId,
        boolean archiveRequired,
        @Nullable Long archivedThrough,
        @Nullable Boolean awaitsArchive,
        Limits limits) {

    /** @param home the database of a row that names none */
    static Project of(Row row, String home) {
        String elsewhere = row.getString("database");
        return new Project(
                row.getUUID("id"),
                row.getString("name"),
                elsewhere == null ? home : elsewhere,
                row.getOffsetDateTime("created_at"),
                row.getOffsetDateTime("closed_at"),
                row.getInteger("retention_days"),
                row.getLong("oldest_sequence_id"),
                row.getBoolean("archive_required"),
                row.getLong("archived_through"),
                row.getBoolean("awaits_archive"),
                Limits.of(row.getString("limits")));
    }

    /** As its own database describes it; null if it does not answer. */
    Project with(@Nullable Row row) {
        return new Project(
                id,
                name,
                database,
                createdAt,
                closedAt,
                retentionDays,
                row == null ? null : row.getLong("oldest_sequence_id"),
                archiveRequired,
                row == null ? null : row.getLong("archived_through"),
                row == null ? null : row.getBoolean("awaits_archive"),
                limits);
    }

    public void write(JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("id", id.toString());
        json.writeStringField("name", name);
        json.writeStringField("database", database);
        json.writeStringField("created_at", createdAt.toInstant().toString());
        json.writeStringField(
                "closed_at", closedAt == null ? null : closedAt.toInstant().toString());
        if (retentionDays == null) {
            json.writeNullField("retention_days");
        } else {
            json.writeNumberField("retention_days", retentionDays);
        }
        json.writeObjectField("oldest_sequence_id", oldestSequenceId);
        json.writeBooleanField("archive_required", archiveRequired);
        json.writeObjectField("archived_through", archivedThrough);
        json.writeObjectField("awaits_archive", awaitsArchive);
        json.writeFieldName("limits");
        limits.write(json);
        json.writeEndObject();
    }
}
