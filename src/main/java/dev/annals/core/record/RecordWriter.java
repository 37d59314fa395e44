package dev.annals.core.record;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.SerializableString;
import com.fasterxml.jackson.core.io.SerializedString;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.Timestamps;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Writes stored records for clients, field by field, without building a tree. */
public final class RecordWriter {

    private static final SerializableString ID = new SerializedString("id");
    private static final SerializableString SEQUENCE_ID = new SerializedString("sequence_id");
    private static final SerializableString ACTION = new SerializedString("action");
    private static final SerializableString ACTOR = new SerializedString("actor");
    private static final SerializableString SUBJECT = new SerializedString("subject");
    private static final SerializableString TYPE = new SerializedString("type");
    private static final SerializableString NAME = new SerializedString("name");
    private static final SerializableString OUTCOME = new SerializedString("outcome");
    private static final SerializableString IP_ADDRESS = new SerializedString("ip_address");
    private static final SerializableString MESSAGE = new SerializedString("message");
    private static final SerializableString TIMESTAMP = new SerializedString("timestamp");
    private static final SerializableString RECORDED_AT = new SerializedString("recorded_at");
    private static final SerializableString RECORDED_BY = new SerializedString("recorded_by");
    private static final SerializableString METADATA = new SerializedString("metadata");
    private static final SerializableString NUMBER = new SerializedString("number");
    private static final SerializableString SEQUENCE = new SerializedString("sequence");
    private static final SerializableString VALUE = new SerializedString("value");

    private RecordWriter() {}

    /** One record as a body. */
    public static byte[] toBytes(StoredRecord record) {
        return JsonBody.toBytes(1024, json -> write(record, json));
    }

    /**
     * Writes one object. Absent fields are left out, except {@code metadata}, which is then {@code {}}. Metadata is written
     * as the JSON text that it is, unchecked.
     *
     * @throws IOException what {@code json} throws
     */
    public static void write(StoredRecord stored, JsonGenerator json) throws IOException {
        json.writeStartObject();
        fields(stored, json);
        json.writeEndObject();
    }

    /**
     * Writes the fields of that object into an open one.
     *
     * @throws IOException what {@code json} throws
     */
    public static void fields(StoredRecord stored, JsonGenerator json) throws IOException {
        AuditRecord record = stored.record();
        string(json, ID, record.id().toString());
        json.writeFieldName(SEQUENCE_ID);
        json.writeNumber(stored.sequenceId());
        string(json, ACTION, record.action());
        party(json, ACTOR, record.actor());
        party(json, SUBJECT, record.subject());
        string(json, OUTCOME, record.outcome());
        string(json, IP_ADDRESS, record.ipAddress());
        string(json, MESSAGE, record.message());
        string(json, TIMESTAMP, Timestamps.format(record.timestamp()));
        string(json, RECORDED_AT, Timestamps.format(stored.recordedAt()));
        string(json, RECORDED_BY, stored.recordedBy());
        number(stored, json);
        json.writeFieldName(METADATA);
        json.writeRawValue(record.metadata() == null ? "{}" : record.metadata());
        Redaction redaction = stored.redaction();
        if (redaction != null) {
            redaction.write(json);
        }
    }

    /**
     * Writes the field {@code number} into an open object, if the record has one.
     *
     * @throws IOException what {@code json} throws
     */
    public static void number(StoredRecord stored, JsonGenerator json) throws IOException {
        String sequence = stored.record().numberSequence();
        Long value = stored.numberValue();
        if (sequence != null && value != null) {
            json.writeFieldName(NUMBER);
            json.writeStartObject();
            string(json, SEQUENCE, sequence);
            json.writeFieldName(VALUE);
            json.writeNumber(value);
            json.writeEndObject();
        }
    }

    private static void party(JsonGenerator json, SerializableString name, @Nullable Party party) throws IOException {
        if (party == null) {
            return;
        }
        json.writeFieldName(name);
        json.writeStartObject();
        string(json, TYPE, party.type());
        string(json, ID, party.id());
        string(json, NAME, party.name());
        json.writeEndObject();
    }

    private static void string(JsonGenerator json, SerializableString name, @Nullable String value) throws IOException {
        if (value != null) {
            json.writeFieldName(name);
            json.writeString(value);
        }
    }
}
