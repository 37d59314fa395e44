package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** A record as one line for people. */
final class RecordLine {

    private RecordLine() {}

    /** Time, sequence id, outcome, action, actor → subject, IP address and message, and which fields were redacted, all texts escaped. */
    static String of(byte[] json) throws IOException {
        JsonNode record = Json.mapper().readTree(json);
        StringBuilder line = new StringBuilder(160);
        line.append(Terminal.escaped(record.path("timestamp").asText()))
                .append("  ")
                .append(record.path("sequence_id").asLong());
        add(line, "  ", record.path("outcome").asText());
        add(line, "  ", record.path("action").asText());
        add(line, "  ", party(record.path("actor")));
        add(line, " \u2192 ", party(record.path("subject")));
        add(line, "  ", record.path("ip_address").asText());
        add(line, "  ", record.path("message").asText());
        return line.append(redacted(record)).append('\n').toString();
    }

    /** Which fields were redacted, escaped; empty if none was. */
    static String redacted(JsonNode record) {
        List<String> redacted = new ArrayList<>();
        record.path("redacted").fieldNames().forEachRemaining(redacted::add);
        return redacted.isEmpty() ? "" : "  [redacted: " + Terminal.escaped(String.join(", ", redacted)) + "]";
    }

    private static void add(StringBuilder line, String before, String text) {
        if (!text.isEmpty()) {
            line.append(before).append(Terminal.escaped(text));
        }
    }

    /** Its name, its id or its type; empty if there is none of them. */
    static String party(JsonNode party) {
        for (String field : new String[] {"name", "id", "type"}) {
            String text = party.path(field).asText();
            if (!text.isEmpty()) {
                return text;
            }
        }
        return "";
    }
}
