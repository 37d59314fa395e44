package dev.annals.edges.delivery;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.core.record.StoredRecord;
import dev.annals.kernel.http.Timestamps;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;

/**
 * A record as an event of PagerDuty's Events API v2, one for each request. The deduplication key names the record, so an event that
 * is sent again joins the alert that is open.
 */
final class PagerDutyEvent {

    private static final int ACCEPTED = 202;
    private static final int BAD_REQUEST = 400;
    private static final int SHOWN = 200;

    private PagerDutyEvent() {}

    /** Without the routing key, which {@link #request} adds. */
    static void write(UUID projectId, StoredRecord stored, Notice notice, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("event_action", "trigger");
        json.writeStringField(
                "dedup_key", "annals:" + projectId + ":" + stored.record().id());
        json.writeStringField("client", "Annals");
        if (notice.link() != null) {
            json.writeStringField("client_url", notice.link());
        }
        json.writeObjectFieldStart("payload");
        json.writeStringField("summary", notice.summary());
        json.writeStringField("source", "annals:" + projectId);
        json.writeStringField("severity", notice.severity());
        json.writeStringField("timestamp", Timestamps.format(stored.recordedAt()));
        json.writeStringField("class", notice.title());
        json.writeObjectFieldStart("custom_details");
        for (Map.Entry<String, String> fact : notice.facts().entrySet()) {
            json.writeStringField(fact.getKey().toLowerCase(Locale.ROOT), fact.getValue());
        }
        json.writeEndObject();
        json.writeEndObject();
        json.writeEndObject();
    }

    /** A batch without records becomes an event that resolves an alert that does not exist, and so pages no person. */
    static Buffer request(Sink.Batch batch, String routingKey) {
        String key = "\"routing_key\":\"" + routingKey + "\"";
        if (batch.records().isEmpty()) {
            return Buffer.buffer("{\"event_action\":\"resolve\",\"dedup_key\":\"annals:test\"," + key + "}");
        }
        Buffer body = Buffer.buffer();
        batch.records().get(0).with(key.getBytes(StandardCharsets.US_ASCII)).appendTo(body);
        return body;
    }

    /** A wrong routing key is no fault of the record. */
    static Sink.Outcome outcome(HttpExchange.Answer answer, String routingKey) {
        String said = answer.body().toString().replace(routingKey, "…");
        String why = answer.text() + " " + HttpExchange.Answer.shown(said, SHOWN);
        if (answer.status() == BAD_REQUEST && said.toLowerCase(Locale.ROOT).contains("routing")) {
            return new Sink.Outcome.Failed(why, null);
        }
        return WebhookSink.outcome(answer, answer.status() == ACCEPTED, why);
    }
}
