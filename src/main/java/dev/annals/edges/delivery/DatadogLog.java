package dev.annals.edges.delivery;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.AuditRecord.Party;
import dev.annals.core.record.RecordEncoder;
import dev.annals.core.record.StoredRecord;
import dev.annals.edges.export.Verdict;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.Timestamps;
import java.io.IOException;
import java.time.Duration;
import java.util.UUID;

/**
 * A record as a log of Datadog: its standard attributes, and in {@code annals} the whole record as in the feed.
 */
final class DatadogLog {

    /** Of 18 hours in the past and 2 in the future, an hour less: batches are on their way for a while. */
    private static final AcceptedTime TIME = new AcceptedTime(Duration.ofHours(17), Duration.ofHours(1));

    private DatadogLog() {}

    static void write(UUID projectId, StoredRecord stored, JsonGenerator json) throws IOException {
        AuditRecord record = stored.record();
        json.writeStartObject();
        json.writeStringField("ddsource", "annals");
        json.writeStringField("service", "annals");
        json.writeStringField("ddtags", "project_id:" + projectId);
        json.writeStringField("message", record.message() == null ? record.action() : record.message());
        json.writeStringField("timestamp", Timestamps.format(TIME.of(stored)));
        json.writeStringField("status", status(record));
        json.writeObjectFieldStart("evt");
        json.writeStringField("name", record.action());
        JsonBody.string("outcome", record.outcome(), json);
        json.writeEndObject();
        Party actor = record.actor();
        if (actor != null) {
            json.writeObjectFieldStart("usr");
            JsonBody.string("id", actor.id(), json);
            JsonBody.string("name", actor.name(), json);
            json.writeEndObject();
        }
        if (record.ipAddress() != null) {
            json.writeObjectFieldStart("network");
            json.writeObjectFieldStart("client");
            json.writeStringField("ip", record.ipAddress());
            json.writeEndObject();
            json.writeEndObject();
        }
        json.writeFieldName("annals");
        RecordEncoder.write(stored, json);
        json.writeEndObject();
        json.writeRaw('\n');
    }

    private static String status(AuditRecord record) {
        return switch (Verdict.of(record.outcome())) {
            case SUCCESS -> "info";
            case FAILURE -> "warn";
            case UNKNOWN -> "notice";
        };
    }
}
