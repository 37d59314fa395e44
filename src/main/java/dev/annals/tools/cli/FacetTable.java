package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Facets as rows for people: the values of each field below one another, then the intervals. */
final class FacetTable {

    private static final String DIM = "\u001b[2m";
    private static final String PLAIN = "\u001b[0m";
    private static final int WIDEST_BAR = 30;

    private final boolean colours;

    FacetTable(boolean colours) {
        this.colours = colours;
    }

    private record Line(String field, long count, String value, String beside) {}

    /** The rows of an answer, each ending with a line break; all their text is escaped. */
    String rows(JsonNode answer) {
        List<Line> lines = new ArrayList<>();
        for (JsonNode facet : answer.path("facets")) {
            addFacet(facet, lines);
        }
        addIntervals(answer, lines);
        int fields =
                lines.stream().mapToInt(line -> line.field().length()).max().orElse(0);
        int counts = lines.stream()
                .mapToInt(line -> Long.toString(line.count()).length())
                .max()
                .orElse(0);
        StringBuilder text = new StringBuilder();
        for (Line line : lines) {
            String count = line.value().isEmpty() ? "" : Long.toString(line.count());
            text.append(line.field())
                    .append(" ".repeat(fields - line.field().length() + 2))
                    .append(" ".repeat(counts - count.length()))
                    .append(count)
                    .append("  ")
                    .append(line.value());
            if (!line.beside().isEmpty()) {
                text.append(line.value().isEmpty() ? "" : "  ").append(dim(line.beside()));
            }
            text.append('\n');
        }
        return text.toString();
    }

    private static void addFacet(JsonNode facet, List<Line> lines) {
        String field = facet.path("field").asText().toUpperCase(Locale.ROOT).replace("IP_ADDRESS", "ADDRESS");
        String head = field.replace('_', ' ');
        JsonNode values = facet.path("values");
        for (JsonNode value : values) {
            lines.add(new Line(
                    head,
                    value.path("count").asLong(),
                    Terminal.escaped(value.path("value").asText()),
                    Terminal.escaped(value.path("name").asText())));
            head = "";
        }
        List<String> rest = new ArrayList<>();
        long more = facet.path("distinct").asLong() - values.size();
        if (more > 0) {
            rest.add(more + " more");
        }
        if (facet.path("missing").asLong() > 0) {
            rest.add(facet.path("missing").asLong() + " without");
        }
        if (!rest.isEmpty()) {
            lines.add(new Line(head, 0, "", "(" + String.join(", ", rest) + ")"));
        }
    }

    private static void addIntervals(JsonNode answer, List<Line> lines) {
        long greatest = 1;
        for (JsonNode interval : answer.path("intervals")) {
            greatest = Math.max(greatest, interval.path("count").asLong());
        }
        String head = answer.path("interval").asText().toUpperCase(Locale.ROOT);
        for (JsonNode interval : answer.path("intervals")) {
            long count = interval.path("count").asLong();
            lines.add(new Line(
                    head, count, Terminal.escaped(interval.path("start").asText()), "#".repeat((int)
                                    Math.max(1, count * WIDEST_BAR / greatest))));
            head = "";
        }
    }

    private String dim(String text) {
        return colours ? DIM + text + PLAIN : text;
    }
}
