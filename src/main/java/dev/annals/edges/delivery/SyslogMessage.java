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
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * A record as a message of RFC 5424: facility log audit, severity by outcome, the record's timestamp, the action as MSGID, its fields as
 * structured data, and the whole record in the stream's format as the message.
 *
 * <p>No character of a record can end a message or a value: control characters and line breaks become spaces, and JSON is ASCII. Long
 * values are cut. A record that is too large loses its metadata and the end of its message or, if that is not enough, its message as a
 * whole; {@code cut="true"} marks it.
 */
final class SyslogMessage implements RecordEncoder.Format {

    /** The enterprise number that RFC 5612 reserves for examples: this project has none of its own. */
    private static final String ELEMENT = "annals@32473";

    private static final int LOG_AUDIT = 13;
    private static final int WARNING = 4;
    private static final int NOTICE = 5;
    private static final int INFORMATIONAL = 6;
    private static final int MAX_MESSAGE_ID = 32;
    private static final String CUT = " cut=\"true\"";
    /** The most bytes of header and structured data, without the values that clients send. */
    private static final int FRAME_BYTES = 768;

    private static final int FREE_VALUES = 10;
    private static final int SHORT_MESSAGE = 256;
    private static final String CUT_METADATA = "{\"annals_cut\":true}";

    private final NamedStream stream;
    private final RecordEncoder.Format format;
    private final int maxBytes;
    private final int maxValueBytes;

    /**
     * @param format of the whole record
     * @param maxBytes of a message: 2,048 or more
     */
    SyslogMessage(NamedStream stream, RecordEncoder.Format format, int maxBytes) {
        this.stream = stream;
        this.format = format;
        this.maxBytes = maxBytes;
        this.maxValueBytes = (maxBytes - FRAME_BYTES) / FREE_VALUES;
    }

    @Override
    public void write(StoredRecord stored, JsonGenerator out) throws IOException {
        StringBuilder text = new StringBuilder(1_024);
        header(stored.record(), text);
        elements(stored, text);
        int room = maxBytes - text.toString().getBytes(StandardCharsets.UTF_8).length - CUT.length() - 2;
        byte[] message = message(stored);
        if (message.length > room) {
            text.append(CUT);
            message = message(shortened(stored));
        }
        out.writeRaw(text.append(']').toString());
        if (message.length <= room) {
            out.writeRaw(' ');
            out.writeRaw(new String(message, StandardCharsets.UTF_8));
        }
    }

    private void header(AuditRecord record, StringBuilder out) {
        int severity = switch (Verdict.of(record.outcome())) {
            case SUCCESS -> INFORMATIONAL;
            case FAILURE -> WARNING;
            case UNKNOWN -> NOTICE;
        };
        // No host and no process: instances take turns, and the receiver need not know their names.
        out.append('<')
                .append(LOG_AUDIT * 8 + severity)
                .append(">1 ")
                .append(Timestamps.format(record.timestamp()))
                .append(" - annals - ")
                .append(messageId(record.action()))
                .append(' ');
    }

    private static String messageId(String action) {
        StringBuilder id = new StringBuilder(MAX_MESSAGE_ID);
        for (int i = 0; i < action.length() && id.length() < MAX_MESSAGE_ID; i++) {
            char c = action.charAt(i);
            id.append(c > ' ' && c < 0x7f ? c : '_');
        }
        return id.length() == 0 ? "-" : id.toString();
    }

    private void elements(StoredRecord stored, StringBuilder out) {
        AuditRecord record = stored.record();
        out.append('[').append(ELEMENT);
        value("project_id", stream.projectId().toString(), out);
        value("stream", stream.name(), out);
        value("sequence_id", Long.toString(stored.sequenceId()), out);
        value("record_id", record.id().toString(), out);
        value("recorded_at", Timestamps.format(stored.recordedAt()), out);
        value("action", record.action(), out);
        party("actor", record.actor(), out);
        party("subject", record.subject(), out);
        value("outcome", record.outcome(), out);
        value("ip_address", record.ipAddress(), out);
        value("recorded_by", stored.recordedBy(), out);
    }

    private void party(String name, @Nullable Party party, StringBuilder out) {
        if (party != null) {
            value(name + "_type", party.type(), out);
            value(name + "_id", party.id(), out);
            value(name + "_name", party.name(), out);
        }
    }

    private void value(String name, @Nullable String value, StringBuilder out) {
        if (value == null) {
            return;
        }
        out.append(' ').append(name).append("=\"");
        int bytes = 0;
        for (int i = 0; i < value.length(); ) {
            int c = harmless(value.codePointAt(i));
            i += Character.charCount(value.codePointAt(i));
            boolean escaped = c == '"' || c == '\\' || c == ']';
            bytes += escaped ? 2 : utf8Length(c);
            if (bytes > maxValueBytes) {
                break;
            }
            if (escaped) {
                out.append('\\');
            }
            out.appendCodePoint(c);
        }
        out.append('"');
    }

    /** Replaces characters that end a line or control a terminal by a space, and half of a surrogate pair by U+FFFD. */
    static int harmless(int codePoint) {
        return switch (Character.getType(codePoint)) {
            case Character.CONTROL, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR -> ' ';
            case Character.SURROGATE -> '\uFFFD';
            default -> codePoint;
        };
    }

    private static int utf8Length(int codePoint) {
        return codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4;
    }

    private byte[] message(StoredRecord stored) {
        String text = new String(JsonBody.toBytes(1_024, json -> format.write(stored, json)), StandardCharsets.UTF_8);
        return (stream.format() == StreamFormat.CEF ? text : AsciiJson.of(text.stripTrailing()))
                .getBytes(StandardCharsets.UTF_8);
    }

    private static StoredRecord shortened(StoredRecord stored) {
        String message = stored.record().message();
        AuditRecord part = stored.record().withTexts(message == null ? null : beginning(message), CUT_METADATA);
        return new StoredRecord(
                part,
                stored.sequenceId(),
                stored.recordedAt(),
                stored.numberValue(),
                stored.recordedBy(),
                stored.redaction());
    }

    private static String beginning(String text) {
        return text.codePointCount(0, text.length()) <= SHORT_MESSAGE
                ? text
                : text.substring(0, text.offsetByCodePoints(0, SHORT_MESSAGE)) + "…";
    }
}
