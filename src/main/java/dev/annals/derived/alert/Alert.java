package dev.annals.derived.alert;

import com.fasterxml.jackson.core.JsonGenerator;
import io.vertx.mutiny.sqlclient.Row;
import java.io.IOException;
import java.time.OffsetDateTime;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The definition of an alert, and its progress.
 *
 * @param threshold the most matching records of an interval that raise no event
 * @param closed whether the project is closed; the alert then counts nothing
 * @param through the last counted record
 * @param lag the number of records still to count
 * @param windowStart the start of the interval that is being counted; null before the first matching record
 * @param raisedWindow the start of the last interval with an event
 */
record Alert(
        UUID id,
        String name,
        String q,
        long threshold,
        int intervalSeconds,
        boolean enabled,
        boolean closed,
        OffsetDateTime createdAt,
        long through,
        long lag,
        @Nullable OffsetDateTime windowStart,
        long matches,
        @Nullable OffsetDateTime raisedWindow,
        long raised,
        int failures,
        @Nullable String lastError,
        @Nullable OffsetDateTime failedAt,
        @Nullable OffsetDateTime retryAt) {

    static Alert of(Row row) {
        return new Alert(
                row.getUUID("id"),
                row.getString("name"),
                row.getString("q"),
                row.getLong("threshold"),
                row.getInteger("interval_seconds"),
                row.getBoolean("enabled"),
                row.getBoolean("closed"),
                row.getOffsetDateTime("created_at"),
                row.getLong("sequence_id"),
                row.getLong("lag"),
                row.getOffsetDateTime("window_start"),
                row.getLong("match_count"),
                row.getOffsetDateTime("raised_window"),
                row.getLong("raised_count"),
                row.getInteger("failures"),
                row.getString("last_error"),
                row.getOffsetDateTime("failed_at"),
                row.getOffsetDateTime("retry_at"));
    }

    String state() {
        if (closed) {
            return "closed";
        } else if (!enabled) {
            return "disabled";
        }
        return failures > 0 ? "failing" : "active";
    }

    void write(JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("id", id.toString());
        json.writeStringField("name", name);
        json.writeStringField("q", q);
        json.writeNumberField("threshold", threshold);
        json.writeNumberField("interval_seconds", intervalSeconds);
        json.writeBooleanField("enabled", enabled);
        json.writeStringField("created_at", text(createdAt));
        json.writeStringField("state", state());
        json.writeNumberField("through", through);
        json.writeNumberField("lag", lag);
        json.writeStringField("window_start", text(windowStart));
        json.writeNumberField("count", matches);
        json.writeStringField("raised_window", text(raisedWindow));
        json.writeNumberField("raised", raised);
        json.writeNumberField("failures", failures);
        json.writeStringField("last_error", lastError);
        json.writeStringField("failed_at", text(failedAt));
        json.writeStringField("retry_at", state().equals("failing") ? text(retryAt) : null);
        json.writeEndObject();
    }

    private static @Nullable String text(@Nullable OffsetDateTime time) {
        return time == null ? null : time.toInstant().toString();
    }
}
