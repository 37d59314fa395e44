package dev.annals.edges.delivery;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.AuditRecord.Party;
import dev.annals.core.record.StoredRecord;
import dev.annals.kernel.http.Timestamps;
import java.io.IOException;
import java.time.OffsetDateTime;
import org.jspecify.annotations.Nullable;

/**
 * A record as a log record of OpenTelemetry, in the JSON of OTLP.
 *
 * <ul>
 *   <li>{@code timeUnixNano} and {@code observedTimeUnixNano}: {@code timestamp} and {@code recorded_at}. Times before 1970 and
 *       after 2262 do not fit, and become the attribute {@code annals.timestamp}.
 *   <li>{@code eventName}: the action. {@code body}: the message; without one, the action.
 *   <li>Attributes {@code audit.…}: the fields that a client sends, by their names. {@code annals.…}: the fields that the service sets,
 *       and the metadata as an object.
 * </ul>
 */
final class OtlpRecord {

    private static final JsonFactory JSON = new JsonFactory();
    private static final long MAX_SECONDS = Long.MAX_VALUE / 1_000_000_000 - 1;
    private static final int INFO = 9;

    private OtlpRecord() {}

    static void write(StoredRecord stored, JsonGenerator json) throws IOException {
        AuditRecord record = stored.record();
        json.writeStartObject();
        boolean isTimed = time("timeUnixNano", record.timestamp(), json);
        time("observedTimeUnixNano", stored.recordedAt(), json);
        json.writeNumberField("severityNumber", INFO);
        json.writeStringField("severityText", "INFO");
        json.writeStringField("eventName", record.action());
        json.writeFieldName("body");
        text(record.message() == null ? record.action() : record.message(), json);
        json.writeArrayFieldStart("attributes");
        attribute("audit.id", record.id().toString(), json);
        attribute("audit.action", record.action(), json);
        party("audit.actor", record.actor(), json);
        party("audit.subject", record.subject(), json);
        attribute("audit.outcome", record.outcome(), json);
        attribute("audit.ip_address", record.ipAddress(), json);
        attribute("annals.sequence_id", stored.sequenceId(), json);
        attribute("annals.recorded_by", stored.recordedBy(), json);
        if (!isTimed) {
            attribute("annals.timestamp", Timestamps.format(record.timestamp()), json);
        }
        if (record.numberSequence() != null && stored.numberValue() != null) {
            attribute("annals.number.sequence", record.numberSequence(), json);
            attribute("annals.number.value", stored.numberValue(), json);
        }
        metadata(record.metadata(), json);
        if (stored.redaction() != null) {
            attribute(
                    "annals.redacted",
                    String.join(" ", stored.redaction().digests().keySet()),
                    json);
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private static boolean time(String field, OffsetDateTime time, JsonGenerator json) throws IOException {
        long seconds = time.toEpochSecond();
        if (seconds < 0 || seconds > MAX_SECONDS) {
            return false;
        }
        json.writeStringField(field, Long.toString(seconds * 1_000_000_000 + time.getNano()));
        return true;
    }

    private static void party(String prefix, @Nullable Party party, JsonGenerator json) throws IOException {
        if (party != null) {
            attribute(prefix + ".type", party.type(), json);
            attribute(prefix + ".id", party.id(), json);
            attribute(prefix + ".name", party.name(), json);
        }
    }

    static void attribute(String name, @Nullable String value, JsonGenerator json) throws IOException {
        if (value != null) {
            json.writeStartObject();
            json.writeStringField("key", name);
            json.writeFieldName("value");
            text(value, json);
            json.writeEndObject();
        }
    }

    private static void attribute(String name, long value, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("key", name);
        json.writeObjectFieldStart("value");
        json.writeStringField("intValue", Long.toString(value));
        json.writeEndObject();
        json.writeEndObject();
    }

    private static void text(String value, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("stringValue", value);
        json.writeEndObject();
    }

    private static void metadata(@Nullable String metadata, JsonGenerator json) throws IOException {
        if (metadata != null) {
            json.writeStartObject();
            json.writeStringField("key", "annals.metadata");
            json.writeFieldName("value");
            try (JsonParser parser = JSON.createParser(metadata)) {
                parser.nextToken();
                value(parser, json);
            }
            json.writeEndObject();
        }
    }

    /** The recursion is bounded, because records limit how deeply metadata are nested. */
    private static void value(JsonParser from, JsonGenerator json) throws IOException {
        json.writeStartObject();
        switch (from.currentToken()) {
            case START_OBJECT -> {
                json.writeObjectFieldStart("kvlistValue");
                json.writeArrayFieldStart("values");
                while (from.nextToken() == JsonToken.FIELD_NAME) {
                    json.writeStartObject();
                    json.writeStringField("key", from.currentName());
                    json.writeFieldName("value");
                    from.nextToken();
                    value(from, json);
                    json.writeEndObject();
                }
                json.writeEndArray();
                json.writeEndObject();
            }
            case START_ARRAY -> {
                json.writeObjectFieldStart("arrayValue");
                json.writeArrayFieldStart("values");
                while (from.nextToken() != JsonToken.END_ARRAY) {
                    value(from, json);
                }
                json.writeEndArray();
                json.writeEndObject();
            }
            case VALUE_TRUE, VALUE_FALSE -> json.writeBooleanField("boolValue", from.getBooleanValue());
            case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> number(from, json);
            case VALUE_STRING -> json.writeStringField("stringValue", from.getText());
            default -> {
                // OTLP writes null as a value without a type.
            }
        }
        json.writeEndObject();
    }

    private static void number(JsonParser from, JsonGenerator json) throws IOException {
        String text = from.getText();
        if (from.currentToken() == JsonToken.VALUE_NUMBER_INT
                && from.getNumberType() != JsonParser.NumberType.BIG_INTEGER) {
            json.writeStringField("intValue", text);
        } else if (from.currentToken() == JsonToken.VALUE_NUMBER_FLOAT && Double.isFinite(from.getDoubleValue())) {
            json.writeNumberField("doubleValue", from.getDoubleValue());
        } else {
            // No number type of OTLP can hold it.
            json.writeStringField("stringValue", text);
        }
    }
}
