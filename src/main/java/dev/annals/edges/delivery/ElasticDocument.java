package dev.annals.edges.delivery;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.AuditRecord.Party;
import dev.annals.core.record.RecordEncoder;
import dev.annals.core.record.StoredRecord;
import dev.annals.edges.export.Verdict;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.Timestamps;
import java.io.IOException;
import java.net.URI;
import java.util.Locale;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A record as a document of the Elastic Common Schema, with the action {@code create} of Elasticsearch's bulk API. The object
 * {@code annals} has the fields that ECS lacks.
 *
 * <p>The id of a document is made from the ids of project and record: a record that is sent again exists already, and no project can
 * take the id of another project's record. Metadata is text. As an object, its first names and types would decide in the
 * index which later records it accepts.
 */
final class ElasticDocument {

    private static final String ECS_VERSION = "8.11.0";
    private static final String ANSWER =
            "filter_path=errors,items.*.status,items.*.failure_store,items.*.error.type,items.*.error.reason";
    private static final int SHOWN = 400;
    private static final int OK = 200;
    private static final int CREATED = 201;
    private static final int BAD_REQUEST = 400;
    private static final int EXISTS = 409;
    private static final int TOO_LARGE = 413;

    private ElasticDocument() {}

    /** Asks for the parts of the answer that count: the whole one can be longer than what is read. */
    static URI url(String bulk) {
        return URI.create(bulk + (bulk.contains("?") ? "&" : "?") + ANSWER);
    }

    static void write(UUID projectId, StoredRecord stored, JsonGenerator json) throws IOException {
        AuditRecord record = stored.record();
        json.writeRaw("{\"create\":{\"_id\":\"" + projectId + ":" + record.id() + "\"}}\n");
        json.writeStartObject();
        json.writeStringField("@timestamp", Timestamps.format(record.timestamp()));
        json.writeStringField("message", record.message() == null ? record.action() : record.message());
        json.writeObjectFieldStart("ecs");
        json.writeStringField("version", ECS_VERSION);
        json.writeEndObject();
        event(stored, json);
        party("user", record.actor(), false, json);
        address(record.ipAddress(), json);
        json.writeObjectFieldStart("annals");
        json.writeStringField("project_id", projectId.toString());
        party("actor", record.actor(), true, json);
        party("subject", record.subject(), true, json);
        JsonBody.string("outcome", record.outcome(), json);
        JsonBody.string("recorded_by", stored.recordedBy(), json);
        RecordEncoder.number(stored, json);
        JsonBody.string("metadata", record.metadata(), json);
        if (stored.redaction() != null) {
            JsonBody.string(
                    "redacted", String.join(" ", stored.redaction().digests().keySet()), json);
        }
        json.writeEndObject();
        json.writeEndObject();
        json.writeRaw('\n');
    }

    private static void event(StoredRecord stored, JsonGenerator json) throws IOException {
        AuditRecord record = stored.record();
        json.writeObjectFieldStart("event");
        json.writeStringField("kind", record.action().equals(Notice.ALERT) ? "alert" : "event");
        json.writeStringField("module", "annals");
        json.writeStringField("dataset", "annals.audit");
        json.writeStringField("action", record.action());
        json.writeStringField("outcome", Verdict.of(record.outcome()).name().toLowerCase(Locale.ROOT));
        json.writeStringField("id", record.id().toString());
        json.writeNumberField("sequence", stored.sequenceId());
        json.writeStringField("created", Timestamps.format(stored.recordedAt()));
        json.writeEndObject();
    }

    private static void party(String field, @Nullable Party party, boolean typed, JsonGenerator json)
            throws IOException {
        if (party != null) {
            json.writeObjectFieldStart(field);
            JsonBody.string("type", typed ? party.type() : null, json);
            JsonBody.string("id", party.id(), json);
            JsonBody.string("name", party.name(), json);
            json.writeEndObject();
        }
    }

    /** The type {@code ip} accepts no networks. */
    private static void address(@Nullable String address, JsonGenerator json) throws IOException {
        if (address != null) {
            json.writeObjectFieldStart("source");
            json.writeStringField("address", address);
            JsonBody.string("ip", address.contains("/") ? null : address, json);
            json.writeEndObject();
        }
    }

    /**
     * An item of 201 is stored, and of 409 was stored before. Only an item of 400 or in the failure store, or 413 for all of them, refuses the batch; its records
     * come again one by one. Everything else is no fault of the records.
     */
    static Sink.Outcome outcome(Sink.Batch batch, HttpExchange.Answer answer) {
        int records = batch.records().size();
        if (answer.status() == TOO_LARGE) {
            return new Sink.Outcome.Refused(answer.text(), false);
        } else if (answer.status() == BAD_REQUEST && records == 0) {
            return new Sink.Outcome.Delivered("It takes the key, and asks for records.");
        }
        JsonNode items = answer.json().path("items");
        if (answer.status() != OK || items.size() != records) {
            return answer.isCut() && records > 1
                    ? new Sink.Outcome.Refused("Its answer is too long.", false)
                    : new Sink.Outcome.Failed(
                            answer.text() + " That is no answer of the bulk API.",
                            answer.failed().after());
        }
        String refused = null;
        for (JsonNode item : items) {
            int status = item.path("create").path("status").asInt();
            if (status == BAD_REQUEST || isInFailureStore(item)) {
                refused = refused == null ? why(item) : refused;
            } else if (status != CREATED && status != EXISTS) {
                return new Sink.Outcome.Failed(why(item), answer.failed().after());
            }
        }
        return refused == null ? Sink.Outcome.Delivered.records(records, "") : new Sink.Outcome.Refused(refused, false);
    }

    /** In place of the data stream, which does not show it: that of a data stream has what does not suit its mapping. */
    private static boolean isInFailureStore(JsonNode item) {
        return item.path("create").path("failure_store").asText().equals("used");
    }

    private static String why(JsonNode item) {
        if (isInFailureStore(item)) {
            return "It put a record into the data stream's failure store, which says why.";
        }
        JsonNode error = item.path("create").path("error");
        String text = error.path("type").asText() + ": " + error.path("reason").asText();
        return "It answered with the status "
                + item.path("create").path("status").asInt() + " for a record. It says "
                + HttpExchange.Answer.shown(text, SHOWN) + ".";
    }
}
