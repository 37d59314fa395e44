package dev.annals.bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A Markdown table whose first column is text and whose others are numbers. */
public final class Table {

    private final List<List<String>> rows = new ArrayList<>();

    /** A table with these column headings. */
    public Table(String... headings) {
        rows.add(Arrays.asList(headings));
    }

    /** Adds a row; one cell a column. */
    public Table row(String... cells) {
        if (cells.length != rows.get(0).size()) {
            throw new IllegalArgumentException(
                    cells.length + " cells in a table of " + rows.get(0).size());
        }
        rows.add(Arrays.asList(cells));
        return this;
    }

    /** The Markdown, closed by a line break. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < rows.size(); i++) {
            text.append("| ").append(String.join(" | ", rows.get(i))).append(" |\n");
            if (i == 0) {
                text.append("|---")
                        .append("|--:".repeat(rows.get(0).size() - 1))
                        .append("|\n");
            }
        }
        return text.toString();
    }
}
