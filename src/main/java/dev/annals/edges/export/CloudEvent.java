package dev.annals.edges.export;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.AuditRecord.Party;
import dev.annals.core.record.RecordEncoder;
import dev.annals.core.record.StoredRecord;
import dev.annals.kernel.http.Timestamps;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A record as a CloudEvents 1.0 event in structured JSON mode.
 *
 * <ul>
 *   <li>{@code source}: {@code urn:uuid:} and the project's id. {@code id}: the record's. Together they are unique, as the specification
 *   requires.
 *   <li>{@code type}: {@code dev.annals.record.} and the action, percent-encoded except RFC 3986's unreserved characters.
 *   <li>{@code subject}: the subject's id, else its name; left out if it has characters that attributes must not have.
 *   <li>{@code sequence}: the sequence id in 18 digits, because the extension requires text that sorts. It can be used as a cursor. No
 *   {@code sequencetype} is set: the extension's {@code Integer} has 32 bits.
 *   <li>{@code time}, {@code recordedtime}: {@code timestamp} and {@code recorded_at}.
 *   <li>{@code recordedby}: {@code recorded_by}; left out likewise.
 *   <li>{@code data}: the record as in the feed.
 * </ul>
 */
final class CloudEvent {

    private static final String TYPE_PREFIX = "dev.annals.record.";
    private static final String HEX = "0123456789ABCDEF";

    private CloudEvent() {}

    static void write(UUID projectId, StoredRecord stored, JsonGenerator json) throws IOException {
        AuditRecord record = stored.record();
        json.writeStartObject();
        json.writeStringField("specversion", "1.0");
        json.writeStringField("id", record.id().toString());
        json.writeStringField("source", "urn:uuid:" + projectId);
        json.writeStringField("type", TYPE_PREFIX + percentEncoded(record.action()));
        String subject = subject(record.subject());
        if (subject != null) {
            json.writeStringField("subject", subject);
        }
        json.writeStringField("time", Timestamps.format(record.timestamp()));
        json.writeStringField("recordedtime", Timestamps.format(stored.recordedAt()));
        if (isAttribute(stored.recordedBy())) {
            json.writeStringField("recordedby", stored.recordedBy());
        }
        json.writeStringField("sequence", sequence(stored.sequenceId()));
        json.writeStringField("datacontenttype", "application/json");
        json.writeFieldName("data");
        RecordEncoder.write(stored, json);
        json.writeEndObject();
    }

    private static String sequence(long sequenceId) {
        String digits = Long.toString(sequenceId);
        return "0".repeat(Math.max(0, 18 - digits.length())) + digits;
    }

    private static @Nullable String subject(@Nullable Party subject) {
        if (subject == null) {
            return null;
        }
        String text = subject.id() == null || subject.id().isEmpty() ? subject.name() : subject.id();
        return isAttribute(text) ? text : null;
    }

    private static boolean isAttribute(@Nullable String text) {
        return text != null && !text.isEmpty() && text.codePoints().allMatch(CloudEvent::isAllowed);
    }

    /** The attribute type String allows no controls, surrogates or noncharacters. */
    private static boolean isAllowed(int c) {
        return !Character.isISOControl(c)
                && !(c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE)
                && !(c >= 0xFDD0 && c <= 0xFDEF)
                && (c & 0xFFFE) != 0xFFFE;
    }

    private static String percentEncoded(String text) {
        StringBuilder encoded = new StringBuilder(text.length());
        for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
            if ((b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || (b >= '0' && b <= '9') || "-._~".indexOf(b) >= 0) {
                encoded.append((char) b);
            } else {
                encoded.append('%').append(HEX.charAt((b >> 4) & 15)).append(HEX.charAt(b & 15));
            }
        }
        return encoded.toString();
    }
}
