package dev.annals.edges.delivery;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.annals.core.record.AuditRecord;
import dev.annals.core.record.AuditRecord.Party;
import dev.annals.core.record.StoredRecord;
import dev.annals.edges.export.Verdict;
import java.io.IOException;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A record as one line of ArcSight's Common Event Format, version 0. Values are cut to the lengths of its dictionary of extensions. Longer
 * metadata are left out.
 */
final class CefEvent {

    private static final Party NOBODY = new Party(null, null, null);
    private static final int MAX_NAME = 512;
    private static final int MAX_WORD = 63;
    private static final int MAX_TEXT = 1_023;
    private static final int MAX_CUSTOM = 4_000;

    private CefEvent() {}

    static void write(UUID projectId, StoredRecord stored, JsonGenerator out) throws IOException {
        AuditRecord record = stored.record();
        StringBuilder text = new StringBuilder(512);
        text.append("CEF:0|Annals|Annals|1|");
        escaped(record.action(), MAX_NAME, "|\\", text);
        text.append('|');
        escaped(record.action(), MAX_NAME, "|\\", text);
        text.append('|')
                .append(severity(record))
                .append("|rt=")
                .append(record.timestamp().toInstant().toEpochMilli());
        value("externalId", record.id().toString(), MAX_TEXT, text);
        value("act", record.action(), MAX_WORD, text);
        value("outcome", record.outcome(), MAX_WORD, text);
        Party actor = record.actor() == null ? NOBODY : record.actor();
        value("suid", actor.id(), MAX_TEXT, text);
        value("suser", actor.name(), MAX_TEXT, text);
        address(record.ipAddress(), text);
        value("msg", record.message(), MAX_TEXT, text);
        text.append(" cn1Label=sequenceId cn1=").append(stored.sequenceId());
        custom(1, "projectId", projectId.toString(), text);
        Party subject = record.subject() == null ? NOBODY : record.subject();
        custom(2, "actorType", actor.type(), text);
        custom(3, "subjectType", subject.type(), text);
        custom(4, "subjectId", subject.id(), text);
        custom(5, "subjectName", subject.name(), text);
        String metadata = record.metadata();
        custom(6, "metadata", metadata == null || metadata.length() > MAX_CUSTOM ? null : metadata, text);
        out.writeRaw(text.toString());
    }

    private static int severity(AuditRecord record) {
        return switch (Verdict.of(record.outcome())) {
            case SUCCESS -> 3;
            case FAILURE -> 7;
            case UNKNOWN -> 5;
        };
    }

    private static void address(@Nullable String address, StringBuilder out) {
        // CEF has no field for networks.
        if (address == null || address.contains("/")) {
            return;
        }
        if (address.contains(":")) {
            out.append(" c6a2Label=Source IPv6 Address c6a2=").append(address);
        } else {
            out.append(" src=").append(address);
        }
    }

    private static void custom(int number, String label, @Nullable String value, StringBuilder out) {
        if (value != null) {
            out.append(" cs").append(number).append("Label=").append(label);
            value("cs" + number, value, MAX_CUSTOM, out);
        }
    }

    private static void value(String key, @Nullable String value, int most, StringBuilder out) {
        if (value != null) {
            out.append(' ').append(key).append('=');
            escaped(value, most, "=\\", out);
        }
    }

    private static void escaped(String value, int most, String special, StringBuilder out) {
        int end = value.codePointCount(0, value.length()) <= most ? value.length() : value.offsetByCodePoints(0, most);
        value.codePoints()
                .limit(value.codePointCount(0, end))
                .map(SyslogMessage::harmless)
                .forEach(c -> {
                    if (special.indexOf(c) >= 0) {
                        out.append('\\');
                    }
                    out.appendCodePoint(c);
                });
    }
}
