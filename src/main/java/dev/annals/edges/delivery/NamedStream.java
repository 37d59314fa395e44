package dev.annals.edges.delivery;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.core.feed.Cursor;
import io.vertx.mutiny.sqlclient.Row;
import java.io.IOException;
import java.time.OffsetDateTime;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A stream, with its progress in one feed or in all feeds that it follows.
 *
 * @param projectId the project of the feed; the owner for a stream as a whole
 * @param archive whether records that its store has confirmed may be removed, as those of an archive
 * @param url without a secret
 * @param onlyPublic whether it may deliver to public addresses alone, because a link defined it
 * @param link the token of the link that defined it or resumed it last; null for a stream that no link defined
 * @param linkIssuedBy the token that made the link
 * @param secret encrypted; null if the sink has none
 * @param filter a JSON object: filters by their names
 * @param deadLetters whether the stream skips a record that the sink refuses for good; otherwise it stops there
 * @param maxRefusals the number of refusals after which a record is refused for good
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record NamedStream(
        UUID id,
        UUID ownerId,
        UUID projectId,
        String name,
        boolean allProjects,
        boolean archive,
        SinkType sinkType,
        String url,
        boolean onlyPublic,
        @Nullable UUID link,
        @Nullable UUID linkIssuedBy,
        byte @Nullable [] secret,
        StreamFormat format,
        String filter,
        boolean deadLetters,
        int maxRefusals,
        OffsetDateTime createdAt,
        @Nullable OffsetDateTime pausedAt,
        @Nullable String pauseReason,
        @Nullable OffsetDateTime stoppedAt,
        @Nullable String stopReason,
        Progress progress) {

    static final String DEAD_LETTER = "dead_letter";
    static final String STOP = "stop";

    /**
     * The progress of a stream.
     *
     * @param rewinds how often a request has set the cursor, or an archive has begun again
     * @param archivedThrough the records up to this sequence id count as archived; the least of all feeds
     * @param epoch of the newest lease
     * @param failures since the last success
     * @param refusals the failures in which the sink refused the records
     * @param lag the number of records after the cursor
     */
    record Progress(
            Cursor cursor,
            int rewinds,
            long archivedThrough,
            long epoch,
            int failures,
            int refusals,
            @Nullable OffsetDateTime retryAt,
            @Nullable String lastError,
            @Nullable OffsetDateTime failedAt,
            @Nullable OffsetDateTime deliveredAt,
            long delivered,
            long deadLetters,
            boolean leased,
            long lag) {}

    static NamedStream of(Row row) {
        return new NamedStream(
                row.getUUID("id"),
                row.getUUID("owner_id"),
                row.getUUID("project_id"),
                row.getString("name"),
                row.getBoolean("all_projects"),
                row.getBoolean("archive"),
                SinkType.of(row.getString("sink_type")).orElseThrow(),
                row.getString("url"),
                row.getBoolean("only_public"),
                row.getUUID("link_id"),
                row.getUUID("link_issued_by"),
                row.getBuffer("secret") == null ? null : row.getBuffer("secret").getBytes(),
                StreamFormat.of(row.getString("format")).orElseThrow(),
                row.getString("filter"),
                row.getString("on_refusal").equals(DEAD_LETTER),
                row.getInteger("max_refusals"),
                row.getOffsetDateTime("created_at"),
                row.getOffsetDateTime("paused_at"),
                row.getString("pause_reason"),
                row.getOffsetDateTime("stopped_at"),
                row.getString("stop_reason"),
                progress(row));
    }

    private static Progress progress(Row row) {
        return new Progress(
                Cursor.parse(row.getString("cursor")).orElseThrow(),
                row.getInteger("rewinds"),
                row.getLong("archived_through"),
                row.getLong("epoch"),
                row.getInteger("failures"),
                row.getInteger("refusals"),
                row.getOffsetDateTime("retry_at"),
                row.getString("last_error"),
                row.getOffsetDateTime("failed_at"),
                row.getOffsetDateTime("delivered_at"),
                row.getLong("delivered"),
                row.getLong("dead_letters"),
                row.getBoolean("leased"),
                row.getLong("lag"));
    }

    String state() {
        if (stoppedAt != null) {
            return "stopped";
        } else if (pausedAt != null) {
            return "paused";
        }
        return progress.failures > 0 ? "failing" : "active";
    }

    void write(JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("id", id.toString());
        json.writeStringField("name", name);
        json.writeBooleanField("all_projects", allProjects);
        json.writeBooleanField("archive", archive);
        json.writeObjectFieldStart("sink");
        json.writeStringField("type", sinkType.text());
        json.writeStringField("url", url);
        json.writeBooleanField("has_secret", secret != null);
        json.writeEndObject();
        json.writeStringField("format", format.text());
        json.writeFieldName("filter");
        json.writeRawValue(filter);
        json.writeStringField("on_refusal", deadLetters ? DEAD_LETTER : STOP);
        json.writeNumberField("max_refusals", maxRefusals);
        json.writeStringField("created_at", text(createdAt));
        writeLink(json);
        json.writeStringField("state", state());
        json.writeStringField("paused_at", text(pausedAt));
        json.writeStringField("pause_reason", pauseReason);
        json.writeStringField("stopped_at", text(stoppedAt));
        json.writeStringField("stop_reason", stopReason);
        json.writeStringField("cursor", allProjects ? null : progress.cursor.toString());
        writeProgress(json);
        json.writeEndObject();
    }

    private void writeLink(JsonGenerator json) throws IOException {
        json.writeFieldName("link");
        if (link == null) {
            json.writeNull();
            return;
        }
        json.writeStartObject();
        json.writeStringField("id", link.toString());
        json.writeStringField("issued_by", linkIssuedBy == null ? null : linkIssuedBy.toString());
        json.writeEndObject();
    }

    void writeFeed(JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("project_id", projectId.toString());
        json.writeStringField("cursor", progress.cursor.toString());
        json.writeNumberField("archived_through", progress.archivedThrough);
        writeProgress(json);
        json.writeEndObject();
    }

    private void writeProgress(JsonGenerator json) throws IOException {
        json.writeNumberField("lag", progress.lag);
        json.writeNumberField("delivered", progress.delivered);
        json.writeStringField("delivered_at", text(progress.deliveredAt));
        json.writeNumberField("dead_letters", progress.deadLetters);
        json.writeNumberField("failures", progress.failures);
        json.writeStringField("last_error", progress.lastError);
        json.writeStringField("failed_at", text(progress.failedAt));
        json.writeStringField("retry_at", state().equals("failing") ? text(progress.retryAt) : null);
    }

    static @Nullable String text(@Nullable OffsetDateTime time) {
        return time == null ? null : time.toInstant().toString();
    }
}
