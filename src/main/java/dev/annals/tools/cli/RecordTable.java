package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** Records as rows for people, below a head. A column is as wide as it has to be, and never becomes narrower. */
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

    /** The rows of further records, each ending with a line break; all their text is escaped. */
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
                cell(RecordLine.party(record.path("actor"))),
                cell(RecordLine.party(record.path("subject"))),
                Terminal.escaped(record.path("ip_address").asText()),
                Terminal.escaped(record.path("message").asText()) + RecordLine.redacted(record));
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
}
