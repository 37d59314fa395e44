package dev.annals.bench.scale;

import dev.annals.bench.Progress;
import dev.annals.bench.Table;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The measurements, size after size: each row of the table is a line of a chart. */
final class Measures {

    /** A row: the format of its values, and one value per size. */
    private record Row(String format, List<Double> values) {}

    private final List<String> sizes = new ArrayList<>();
    private final Map<String, Map<String, Row>> charts = new LinkedHashMap<>();

    /** @param titles of the charts, in the order in which they are shown */
    Measures(List<String> titles) {
        titles.forEach(title -> charts.put(title, new LinkedHashMap<>()));
    }

    /** Begins a size: values added from now on belong to it. */
    void begin(String size) {
        sizes.add(size);
    }

    /**
     * Adds the value at the newest size.
     *
     * @param chart its title: what is measured, and in which unit
     * @param line what the chart tells apart; empty where it has one line
     */
    void add(String chart, String line, String format, double value) {
        Progress.say("  " + name(chart, line) + " " + String.format(format, value));
        charts.get(chart)
                .computeIfAbsent(line, none -> new Row(format, new ArrayList<>()))
                .values()
                .add(value);
    }

    /** The values of each line of each chart. */
    Map<String, Map<String, List<Double>>> charts() {
        Map<String, Map<String, List<Double>>> values = new LinkedHashMap<>();
        charts.forEach((chart, lines) -> {
            Map<String, List<Double>> ofChart = new LinkedHashMap<>();
            lines.forEach((line, row) -> ofChart.put(line, row.values));
            values.put(chart, ofChart);
        });
        return values;
    }

    /** A column for each size. */
    Table table(String heading) {
        List<String> headings = new ArrayList<>(List.of(heading));
        headings.addAll(sizes);
        Table table = new Table(headings.toArray(String[]::new));
        charts.forEach((chart, lines) -> lines.forEach((line, row) -> {
            List<String> cells = new ArrayList<>(List.of(name(chart, line)));
            row.values.forEach(value -> cells.add(String.format(row.format, value)));
            table.row(cells.toArray(String[]::new));
        }));
        return table;
    }

    private static String name(String chart, String line) {
        return line.isEmpty() ? chart : chart + ": " + line;
    }
}
