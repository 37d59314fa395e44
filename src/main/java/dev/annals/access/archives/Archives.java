package dev.annals.access.archives;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.access.caller.Actor;
import dev.annals.access.places.Places;
import dev.annals.access.projects.Listed;
import dev.annals.access.projects.Project;
import dev.annals.access.projects.Projects;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.guid.SequentialGuid;
import dev.annals.kernel.http.RequestFields;
import io.smallrye.mutiny.Uni;
import io.vertx.core.buffer.Buffer;
import io.vertx.mutiny.sqlclient.Row;
import jakarta.enterprise.context.ApplicationScoped;
import java.io.IOException;
import java.time.OffsetDateTime;
import java.util.HexFormat;
import java.util.Set;
import java.util.UUID;

/** Descriptions of the archives of projects. The files are outside the database: see R__65_archive.sql. */
@ApplicationScoped
class Archives {

    private static final Sql LIST_ARCHIVES = Sql.named("access/archives/list_archives");
    private static final Sql FIND_ARCHIVE = Sql.named("access/archives/find_archive");
    private static final Sql NOTE_ARCHIVE = Sql.named("access/archives/note_archive");
    private static final int MAX_FILE_NAME = 255;

    private final Places places;
    private final SequentialGuid guids;

    Archives(Places places, SequentialGuid guids) {
        this.places = places;
        this.guids = guids;
    }

    /**
     * A file with records of a project, outside the service.
     *
     * @param first a sequence id, like {@code last}
     * @param sha256 in hexadecimal
     */
    record Archive(
            UUID id, long first, long last, String fileName, long bytes, String sha256, OffsetDateTime createdAt) {

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

    /** {@code {"first_sequence_id": 1, "last_sequence_id": 256, "file_name": "…", "bytes": 4711, "sha256": "…"}}. */
    record NewArchive(long first, long last, String fileName, long bytes, String sha256) {

        static NewArchive read(byte[] body) {
            RequestFields fields = new RequestFields(
                    body, Set.of("first_sequence_id", "last_sequence_id", "file_name", "bytes", "sha256"));
            long first = positive(fields, "first_sequence_id");
            long last = positive(fields, "last_sequence_id");
            if (last < first) {
                fields.wrong("last_sequence_id", "It must not be less than first_sequence_id.");
            }
            String fileName = fields.text("file_name", MAX_FILE_NAME, true);
            long bytes = positive(fields, "bytes");
            String sha256 = fields.text("sha256", 64, true);
            if (sha256 != null && !sha256.matches("[0-9a-f]{64}")) {
                fields.wrong("sha256", "It must be 64 digits in hexadecimal, with small letters.");
            }
            fields.requireValid();
            return new NewArchive(first, last, fileName == null ? "" : fileName, bytes, sha256 == null ? "" : sha256);
        }

        private static long positive(RequestFields fields, String name) {
            JsonNode value = fields.get(name);
            if (value == null || !value.isIntegralNumber() || !value.canConvertToLong() || value.longValue() < 1) {
                fields.wrong(name, "It must be a whole number of 1 or more.");
                return 1;
            }
            return value.longValue();
        }
    }

    Uni<Listed<Archive>> list(Project project, Listed.Part part) {
        return places.on(
                project.id(),
                database -> part.read(
                        LIST_ARCHIVES.bind("project_id", project.id()), database.pool(), Archive::of, Archive::id));
    }

    /** The archive's records may expire from then on. */
    Uni<Archive> note(Project project, NewArchive made, Actor actor) {
        UUID id = guids.next();
        return places.on(
                project.id(),
                database -> Projects.run(
                                NOTE_ARCHIVE
                                        .bind("project_id", project.id())
                                        .bind("id", id)
                                        .bind("first_sequence_id", made.first())
                                        .bind("last_sequence_id", made.last())
                                        .bind("file_name", made.fileName())
                                        .bind("bytes", made.bytes())
                                        .bind(
                                                "digest",
                                                Buffer.buffer(HexFormat.of().parseHex(made.sha256()))),
                                actor,
                                database.pool())
                        .chain(rows -> Projects.one(
                                FIND_ARCHIVE
                                        .bind("project_id", project.id())
                                        .bind("id", rows.iterator().next().getUUID("id")),
                                database.pool(),
                                Archive::of,
                                "archive")));
    }
}
