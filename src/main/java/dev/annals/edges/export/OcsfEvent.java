package dev.annals.edges.export;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.access.actions.Catalogue.Action;
import dev.annals.access.actions.Catalogue.Severity;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.AuditRecord.Party;
import dev.annals.core.record.RecordEncoder;
import dev.annals.core.record.StoredRecord;
import dev.annals.core.record.StoredRecord.Redaction;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.Timestamps;
import java.io.IOException;
import java.time.OffsetDateTime;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A record as an event of OCSF 1.6.0, with the profile {@code datetime}, in the class that the catalogue of actions names, otherwise API
 * Activity (6003).
 *
 * <p>The activity is the last word of the action that names one ({@code volume_create} is Create); otherwise it is Other, with the action
 * as its name. The outcomes {@code success} and {@code failure}, and a few synonyms, become status ids; any other outcome is Other.
 * Required fields that the record lacks are {@code Unknown}. {@code status_code}, and {@code api.operation} or {@code unmapped.action}, have
 * the original words, {@code unmapped} has the fields without a place in the schema, and {@code time_dt} and {@code
 * metadata.logged_time_dt} have the times to the microsecond.
 */
final class OcsfEvent {

    private static final int OTHER = OcsfClass.OTHER;
    private static final String UNKNOWN = "Unknown";

    private static final Party NOTHING = new Party(null, null, null);

    private static final Map<Integer, String> STATUS_NAMES = Map.of(1, "Success", 2, "Failure");

    private static final Map<String, Integer> USER_TYPES = Map.of("user", 1, "admin", 2, "system", 3, "service", 4);
    private static final Map<Integer, String> USER_TYPE_NAMES =
            Map.of(1, "User", 2, "Admin", 3, "System", 4, "Service");

    private OcsfEvent() {}

    /** @param action of the catalogue; null without one */
    static void write(UUID projectId, @Nullable Action action, StoredRecord stored, JsonGenerator json)
            throws IOException {
        AuditRecord record = stored.record();
        OcsfClass ocsf = OcsfClass.of(action == null ? null : action.ocsfClass());
        json.writeStartObject();
        writeClassification(ocsf, action == null ? null : action.severity(), record, json);
        writeTime("time", record.timestamp(), json);
        writeMetadata(projectId, ocsf, stored, json);
        json.writeObjectFieldStart("actor");
        writeUser("user", record.actor(), json);
        json.writeEndObject();
        writeStatus(record.outcome(), json);
        writeEndpoint(ocsf, record.ipAddress(), json);
        writeSubject(ocsf, record, json);
        JsonBody.string("message", record.message(), json);
        writeUnmapped(ocsf, stored, json);
        json.writeEndObject();
    }

    private static void writeClassification(
            OcsfClass ocsf, @Nullable Severity severity, AuditRecord record, JsonGenerator json) throws IOException {
        int activity = ocsf.activityOf(record.action());
        Severity written = severity == null ? Severity.INFORMATIONAL : severity;
        json.writeNumberField("category_uid", ocsf.categoryUid());
        json.writeStringField("category_name", ocsf.category());
        json.writeNumberField("class_uid", ocsf.uid());
        json.writeStringField("class_name", ocsf.caption());
        json.writeNumberField("activity_id", activity);
        json.writeStringField("activity_name", ocsf.activityName(activity, record.action()));
        json.writeNumberField("type_uid", ocsf.uid() * 100 + activity);
        json.writeNumberField("severity_id", written.id());
        json.writeStringField(
                "severity",
                written.name().charAt(0) + written.name().substring(1).toLowerCase(Locale.ROOT));
    }

    private static void writeMetadata(UUID projectId, OcsfClass ocsf, StoredRecord stored, JsonGenerator json)
            throws IOException {
        json.writeObjectFieldStart("metadata");
        json.writeStringField("version", "1.6.0");
        json.writeArrayFieldStart("profiles");
        json.writeString("datetime");
        if (ocsf == OcsfClass.WEB_RESOURCES_ACTIVITY) {
            // It has the actor.
            json.writeString("host");
        }
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

    private static void writeUser(String field, @Nullable Party party, JsonGenerator json) throws IOException {
        String type = party == null ? null : party.type();
        json.writeObjectFieldStart(field);
        if (type == null) {
            json.writeNumberField("type_id", 0);
            json.writeStringField("type", UNKNOWN);
        } else {
            int typeId = USER_TYPES.getOrDefault(type.toLowerCase(Locale.ROOT), OTHER);
            json.writeNumberField("type_id", typeId);
            json.writeStringField("type", USER_TYPE_NAMES.getOrDefault(typeId, type));
        }
        writeIdAndName(party, json);
        json.writeEndObject();
    }

    private static void writeEndpoint(OcsfClass ocsf, @Nullable String address, JsonGenerator json) throws IOException {
        boolean isDevice = ocsf == OcsfClass.FILE_SYSTEM_ACTIVITY;
        json.writeObjectFieldStart(isDevice ? "device" : "src_endpoint");
        if (isDevice) {
            json.writeNumberField("type_id", 0);
            json.writeStringField("type", UNKNOWN);
        }
        json.writeStringField(address == null ? "name" : "ip", address == null ? UNKNOWN : address);
        json.writeEndObject();
    }

    /** Writes the subject in the attribute that the class requires. */
    private static void writeSubject(OcsfClass ocsf, AuditRecord record, JsonGenerator json) throws IOException {
        Party subject = record.subject();
        switch (ocsf) {
            case API_ACTIVITY -> {
                json.writeObjectFieldStart("api");
                json.writeStringField("operation", record.action());
                json.writeEndObject();
                writeResources("resources", subject, json);
            }
            case WEB_RESOURCES_ACTIVITY -> writeResources("web_resources", subject == null ? NOTHING : subject, json);
            case AUTHENTICATION -> {
                writeUser("user", record.actor() == null ? subject : record.actor(), json);
                json.writeObjectFieldStart("service");
                json.writeStringField("name", UNKNOWN);
                json.writeEndObject();
            }
            case ACCOUNT_CHANGE -> writeUser("user", subject, json);
            case AUTHORIZE_SESSION, USER_ACCESS_MANAGEMENT -> {
                writeUser("user", subject == null ? record.actor() : subject, json);
                json.writeArrayFieldStart("privileges");
                json.writeString(UNKNOWN);
                json.writeEndArray();
            }
            case GROUP_MANAGEMENT -> {
                json.writeObjectFieldStart("group");
                JsonBody.string("type", subject == null ? null : subject.type(), json);
                writeIdAndName(subject, json);
                json.writeEndObject();
            }
            case DATASTORE_ACTIVITY -> {
                json.writeObjectFieldStart("table");
                writeIdAndName(subject, json);
                json.writeEndObject();
            }
            case FILE_SYSTEM_ACTIVITY -> writeFile(subject == null ? NOTHING : subject, json);
        }
    }

    /** A file has a name. */
    private static void writeFile(Party subject, JsonGenerator json) throws IOException {
        String id = subject.id() == null ? UNKNOWN : subject.id();
        json.writeObjectFieldStart("file");
        json.writeNumberField("type_id", 0);
        json.writeStringField("type", UNKNOWN);
        JsonBody.string("uid", subject.id(), json);
        json.writeStringField("name", subject.name() == null ? id : subject.name());
        json.writeEndObject();
    }

    private static void writeResources(String field, @Nullable Party subject, JsonGenerator json) throws IOException {
        if (subject == null) {
            return;
        }
        json.writeArrayFieldStart(field);
        json.writeStartObject();
        JsonBody.string("type", subject.type(), json);
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
        JsonBody.string("uid", party.id(), json);
        JsonBody.string("name", party.name(), json);
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

    private static void writeUnmapped(OcsfClass ocsf, StoredRecord stored, JsonGenerator json) throws IOException {
        AuditRecord record = stored.record();
        json.writeObjectFieldStart("unmapped");
        if (ocsf != OcsfClass.API_ACTIVITY) {
            json.writeStringField("action", record.action());
            writeOriginal(record.subject(), json);
        }
        json.writeNumberField("sequence_id", stored.sequenceId());
        if (record.actor() != null) {
            JsonBody.string("actor_type", record.actor().type(), json);
        }
        RecordEncoder.number(stored, json);
        JsonBody.string("recorded_by", stored.recordedBy(), json);
        json.writeFieldName("metadata");
        json.writeRawValue(record.metadata() == null ? "{}" : record.metadata());
        Redaction redaction = stored.redaction();
        if (redaction != null) {
            redaction.write(json);
        }
        json.writeEndObject();
    }

    private static void writeOriginal(@Nullable Party subject, JsonGenerator json) throws IOException {
        if (subject != null) {
            json.writeObjectFieldStart("subject");
            JsonBody.string("type", subject.type(), json);
            JsonBody.string("id", subject.id(), json);
            JsonBody.string("name", subject.name(), json);
            json.writeEndObject();
        }
    }

    private static void writeTime(String name, OffsetDateTime time, JsonGenerator json) throws IOException {
        json.writeNumberField(name, time.toInstant().toEpochMilli());
        json.writeStringField(name + "_dt", Timestamps.format(time));
    }
}
