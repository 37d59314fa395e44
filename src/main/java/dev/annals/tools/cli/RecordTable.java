package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** Records as text: rows of a table with a head, or single lines. A column grows with its content and never shrinks. */
final class RecordTable {

    private static final List<String> HEAD =
            List.of("TIME", "ID", "OUTCOME", "ACTION", "ACTOR", "SUBJECT", "ADDRESS", "MESSAGE");
    private static final int OUTCOME = 2;
    private static final int ACTION = 3;
    private static final int WIDEST = 32;
    private static final Set<String> GOOD = Set.of("success", "succeeded", "ok", "allowed", "granted");
    private static final Set<String> BAD = Set.of("failure", "failed", "error", "denied", "refused", "forbidden");

    private static final String DIM = "\u001b[2m";
    private static final String BOLD = "\u001b[1m";
    private static final String GREEN = "\u001b[32m";
    private static final String RED = "\u001b[31m";
    private static final String PLAIN = "\u001b[0m";

    private final boolean colours;
    private final int[] widths = new int[HEAD.size()];
    private boolean begun;

    RecordTable(boolean colours) {
        this.colours = colours;
    }

    /** The rows of more records, each with a line break at its end; all text is escaped. */
    String rows(List<byte[]> records) throws IOException {
        List<List<String>> rows = new ArrayList<>();
        for (byte[] record : records) {
            rows.add(cells(Json.mapper().readTree(record)));
        }
        StringBuilder text = new StringBuilder();
        if (!rows.isEmpty() && !begun) {
            begun = true;
            rows.add(0, HEAD);
        }
        for (List<String> row : rows) {
            for (int column = 0; column < widths.length; column++) {
                widths[column] = Math.max(widths[column], width(row.get(column)));
            }
        }
        rows.forEach(row -> add(text, row));
        return text.toString();
    }

    private static List<String> cells(JsonNode record) {
        return List.of(
                Terminal.escaped(record.path("timestamp").asText()),
                Long.toString(record.path("sequence_id").asLong()),
                cell(record.path("outcome").asText()),
                cell(record.path("action").asText()),
                cell(party(record.path("actor"))),
                cell(party(record.path("subject"))),
                Terminal.escaped(record.path("ip_address").asText()),
                Terminal.escaped(record.path("message").asText()) + redacted(record));
    }

    private static String cell(String text) {
        String escaped = Terminal.escaped(text);
        return width(escaped) <= WIDEST
                ? escaped
                : escaped.substring(0, escaped.offsetByCodePoints(0, WIDEST - 1)) + "\u2026";
    }

    private static int width(String text) {
        return text.codePointCount(0, text.length());
    }

    private void add(StringBuilder text, List<String> row) {
        boolean head = row == HEAD;
        for (int column = 0; column < widths.length; column++) {
            String cell = row.get(column);
            String colour = !colours ? "" : head ? DIM : colour(column, cell);
            text.append(colour).append(cell).append(colour.isEmpty() ? "" : PLAIN);
            boolean last = column == widths.length - 1;
            text.append(last ? "\n" : " ".repeat(widths[column] - width(cell) + 2));
        }
    }

    private static String colour(int column, String cell) {
        return switch (column) {
            case 0, 1 -> DIM;
            case OUTCOME -> {
                String outcome = cell.toLowerCase(Locale.ROOT);
                yield GOOD.contains(outcome) ? GREEN : BAD.contains(outcome) ? RED : "";
            }
            case ACTION -> BOLD;
            default -> "";
        };
    }

    /** Time, sequence id, outcome, action, actor → subject, IP address, message and redacted fields, escaped. */
    static String line(byte[] json) throws IOException {
        JsonNode record = Json.mapper().readTree(json);
        StringBuilder line = new StringBuilder(160);
        line.append(Terminal.escaped(record.path("timestamp").asText()))
                .append("  ")
                .append(record.path("sequence_id").asLong());
        append(line, "  ", record.path("outcome").asText());
        append(line, "  ", record.path("action").asText());
        append(line, "  ", party(record.path("actor")));
        append(line, " \u2192 ", party(record.path("subject")));
        append(line, "  ", record.path("ip_address").asText());
        append(line, "  ", record.path("message").asText());
        return line.append(redacted(record)).append('\n').toString();
    }

    /** The redacted fields, escaped; empty without any. */
    private static String redacted(JsonNode record) {
        List<String> redacted = new ArrayList<>();
        record.path("redacted").fieldNames().forEachRemaining(redacted::add);
        return redacted.isEmpty() ? "" : "  [redacted: " + Terminal.escaped(String.join(", ", redacted)) + "]";
    }

    private static void append(StringBuilder line, String before, String text) {
        if (!text.isEmpty()) {
            line.append(before).append(Terminal.escaped(text));
        }
    }

    /** The name, the id or the type; empty if the party has none. */
    private static String party(JsonNode party) {
        for (String field : new String[] {"name", "id", "type"}) {
            String text = party.path(field).asText();
            if (!text.isEmpty()) {
                return text;
            }
        }
        return "";
    }
}
