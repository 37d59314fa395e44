package dev.annals.edges.export;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.AuditRecord.Party;
import dev.annals.core.record.RecordEncoder;
import dev.annals.core.record.StoredRecord;
import dev.annals.core.record.StoredRecord.Redaction;
import dev.annals.kernel.http.Timestamps;
import java.io.IOException;
import java.time.OffsetDateTime;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A record as an event of OCSF 1.6.0, class API Activity (6003), with the profile {@code datetime}.
 *
 * <p>The activity is the last word of the action that names one ({@code volume_create} is Create); otherwise it is Other, with the action
 * as its name. The outcomes {@code success} and {@code failure}, and a few synonyms, become status ids; any other outcome is Other.
 * Required fields that the record lacks are {@code Unknown}. {@code api.operation} and {@code status_code} have the original words, {@code
 * unmapped} has the fields without a place in the schema, and {@code time_dt} and {@code metadata.logged_time_dt} have the times to the
 * microsecond.
 */
final class OcsfEvent {

    private static final int CLASS_UID = 6003;
    private static final int CATEGORY_UID = 6;
    private static final int OTHER = 99;
    private static final String UNKNOWN = "Unknown";

    private static final Map<String, Integer> ACTIVITIES = Map.ofEntries(
            Map.entry("create", 1),
            Map.entry("created", 1),
            Map.entry("add", 1),
            Map.entry("added", 1),
            Map.entry("insert", 1),
            Map.entry("read", 2),
            Map.entry("get", 2),
            Map.entry("list", 2),
            Map.entry("view", 2),
            Map.entry("viewed", 2),
            Map.entry("update", 3),
            Map.entry("updated", 3),
            Map.entry("change", 3),
            Map.entry("changed", 3),
            Map.entry("edit", 3),
            Map.entry("edited", 3),
            Map.entry("modify", 3),
            Map.entry("modified", 3),
            Map.entry("rename", 3),
            Map.entry("renamed", 3),
            Map.entry("delete", 4),
            Map.entry("deleted", 4),
            Map.entry("remove", 4),
            Map.entry("removed", 4));
    private static final Map<Integer, String> ACTIVITY_NAMES = Map.of(1, "Create", 2, "Read", 3, "Update", 4, "Delete");

    private static final Map<Integer, String> STATUS_NAMES = Map.of(1, "Success", 2, "Failure");

    private static final Map<String, Integer> USER_TYPES = Map.of("user", 1, "admin", 2, "system", 3, "service", 4);
    private static final Map<Integer, String> USER_TYPE_NAMES =
            Map.of(1, "User", 2, "Admin", 3, "System", 4, "Service");

    private OcsfEvent() {}

    static void write(UUID projectId, StoredRecord stored, JsonGenerator json) throws IOException {
        AuditRecord record = stored.record();
        json.writeStartObject();
        writeClassification(record, json);
        writeTime("time", record.timestamp(), json);
        writeMetadata(projectId, stored, json);
        writeActor(record.actor(), json);
        json.writeObjectFieldStart("api");
        json.writeStringField("operation", record.action());
        json.writeEndObject();
        writeStatus(record.outcome(), json);
        json.writeObjectFieldStart("src_endpoint");
        json.writeStringField(
                record.ipAddress() == null ? "name" : "ip", record.ipAddress() == null ? UNKNOWN : record.ipAddress());
        json.writeEndObject();
        writeResource(record.subject(), json);
        string("message", record.message(), json);
        writeUnmapped(stored, json);
        json.writeEndObject();
    }

    private static void writeClassification(AuditRecord record, JsonGenerator json) throws IOException {
        int activity = activityOf(record.action());
        String name = ACTIVITY_NAMES.getOrDefault(activity, record.action());
        json.writeNumberField("category_uid", CATEGORY_UID);
        json.writeStringField("category_name", "Application Activity");
        json.writeNumberField("class_uid", CLASS_UID);
        json.writeStringField("class_name", "API Activity");
        json.writeNumberField("activity_id", activity);
        json.writeStringField("activity_name", name);
        json.writeNumberField("type_uid", CLASS_UID * 100 + activity);
        json.writeNumberField("severity_id", 1);
        json.writeStringField("severity", "Informational");
    }

    private static int activityOf(String action) {
        int activity = OTHER;
        for (String word : action.split("[^\\p{L}]+|(?<=\\p{Ll})(?=\\p{Lu})", -1)) {
            activity = ACTIVITIES.getOrDefault(word.toLowerCase(Locale.ROOT), activity);
        }
        return activity;
    }

    private static void writeMetadata(UUID projectId, StoredRecord stored, JsonGenerator json) throws IOException {
        json.writeObjectFieldStart("metadata");
        json.writeStringField("version", "1.6.0");
        json.writeArrayFieldStart("profiles");
        json.writeString("datetime");
        json.writeEndArray();
        json.writeObjectFieldStart("product");
        json.writeStringField("name", "Annals");
        json.writeStringField("vendor_name", "Annals");
        json.writeEndObject();
        json.writeStringField("uid", stored.record().id().toString());
        json.writeStringField("tenant_uid", projectId.toString());
        // The schema's integers have 32 bits.
        if (stored.sequenceId() <= Integer.MAX_VALUE) {
            json.writeNumberField("sequence", stored.sequenceId());
        }
        writeTime("logged_time", stored.recordedAt(), json);
        json.writeEndObject();
    }

    private static void writeActor(@Nullable Party actor, JsonGenerator json) throws IOException {
        String type = actor == null ? null : actor.type();
        json.writeObjectFieldStart("actor");
        json.writeObjectFieldStart("user");
        if (type == null) {
            json.writeNumberField("type_id", 0);
            json.writeStringField("type", UNKNOWN);
        } else {
            int typeId = USER_TYPES.getOrDefault(type.toLowerCase(Locale.ROOT), OTHER);
            json.writeNumberField("type_id", typeId);
            json.writeStringField("type", USER_TYPE_NAMES.getOrDefault(typeId, type));
        }
        writeIdAndName(actor, json);
        json.writeEndObject();
        json.writeEndObject();
    }

    private static void writeResource(@Nullable Party subject, JsonGenerator json) throws IOException {
        if (subject == null) {
            return;
        }
        json.writeArrayFieldStart("resources");
        json.writeStartObject();
        string("type", subject.type(), json);
        writeIdAndName(subject, json);
        json.writeEndObject();
        json.writeEndArray();
    }

    /** The schema requires at least one of id and name. */
    private static void writeIdAndName(@Nullable Party party, JsonGenerator json) throws IOException {
        if (party == null || (party.id() == null && party.name() == null)) {
            json.writeStringField("name", UNKNOWN);
            return;
        }
        string("uid", party.id(), json);
        string("name", party.name(), json);
    }

    private static void writeStatus(@Nullable String outcome, JsonGenerator json) throws IOException {
        if (outcome == null) {
            json.writeNumberField("status_id", 0);
            json.writeStringField("status", UNKNOWN);
            return;
        }
        int status = switch (Verdict.of(outcome)) {
            case SUCCESS -> 1;
            case FAILURE -> 2;
            case UNKNOWN -> OTHER;
        };
        json.writeNumberField("status_id", status);
        json.writeStringField("status", STATUS_NAMES.getOrDefault(status, outcome));
        json.writeStringField("status_code", outcome);
    }

    private static void writeUnmapped(StoredRecord stored, JsonGenerator json) throws IOException {
        AuditRecord record = stored.record();
        json.writeObjectFieldStart("unmapped");
        json.writeNumberField("sequence_id", stored.sequenceId());
        if (record.actor() != null) {
            string("actor_type", record.actor().type(), json);
        }
        RecordEncoder.number(stored, json);
        string("recorded_by", stored.recordedBy(), json);
        json.writeFieldName("metadata");
        json.writeRawValue(record.metadata() == null ? "{}" : record.metadata());
        Redaction redaction = stored.redaction();
        if (redaction != null) {
            redaction.write(json);
        }
        json.writeEndObject();
    }

    private static void writeTime(String name, OffsetDateTime time, JsonGenerator json) throws IOException {
        json.writeNumberField(name, time.toInstant().toEpochMilli());
        json.writeStringField(name + "_dt", Timestamps.format(time));
    }

    private static void string(String name, @Nullable String value, JsonGenerator json) throws IOException {
        if (value != null) {
            json.writeStringField(name, value);
        }
    }
}
