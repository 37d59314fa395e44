package dev.annals.bench.scale;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** Small charts of some measures against one size, on a logarithmic axis, as an SVG file that is light or dark as its reader is. */
final class Charts {

    private static final int COLUMNS = 3;
    private static final int WIDTH = 300;
    private static final int HEIGHT = 196;
    private static final int LEFT = 52;
    private static final int RIGHT = 18;
    private static final int TOP = 46;
    private static final int BOTTOM = 26;
    private static final int TICKS = 4;
    private static final int COLOURS = 6;
    private static final String STYLE = """
            <style>
              svg { --ground: #ffffff; --text: #1f2328; --faint: #656d76; --grid: #d8dee4;
                --line0: #0969da; --line1: #bc4c00; --line2: #1a7f37; --line3: #8250df; --line4: #9a6700;
                --line5: #bf3989; }
              @media (prefers-color-scheme: dark) {
                svg { --ground: #0d1117; --text: #e6edf3; --faint: #9198a1; --grid: #30363d;
                  --line0: #58a6ff; --line1: #f0883e; --line2: #3fb950; --line3: #bc8cff; --line4: #d29922;
                  --line5: #f778ba; }
              }
              text { font: 11px system-ui, sans-serif; fill: var(--faint); }
              .title { font-size: 12px; font-weight: 600; fill: var(--text); }
              .grid { stroke: var(--grid); }
              polyline { fill: none; stroke-width: 2; }
            """;

    private final String title;
    private final List<Double> sizes;
    private final List<String> sizeNames;

    /**
     * @param sizes in rising order
     * @param sizeNames short ones, for the axis
     */
    Charts(String title, List<Double> sizes, List<String> sizeNames) {
        this.title = title;
        this.sizes = sizes;
        this.sizeNames = sizeNames;
    }

    /** The file; of each chart, its lines by their names, and of each line a value for each size. */
    String svg(Map<String, Map<String, List<Double>>> charts) {
        int rows = (charts.size() + COLUMNS - 1) / COLUMNS;
        StringBuilder svg = new StringBuilder();
        svg.append(String.format(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"t d\">%n",
                COLUMNS * WIDTH, rows * HEIGHT));
        svg.append("<title id=\"t\">").append(escape(title)).append("</title>\n");
        svg.append("<desc id=\"d\">").append(escape(description(charts))).append("</desc>\n");
        svg.append(STYLE);
        for (int i = 0; i < COLOURS; i++) {
            svg.append(String.format(
                    "  .line%1$d { stroke: var(--line%1$d); fill: var(--line%1$d); } text.line%1$d { stroke: none; }%n",
                    i));
        }
        svg.append("  polyline[class] { fill: none; }\n</style>\n");
        svg.append("<rect width=\"100%\" height=\"100%\" fill=\"var(--ground)\"/>\n");
        int place = 0;
        for (Map.Entry<String, Map<String, List<Double>>> chart : charts.entrySet()) {
            svg.append(String.format(
                    "<g transform=\"translate(%d %d)\">%n", place % COLUMNS * WIDTH, place / COLUMNS * HEIGHT));
            append(svg, chart.getKey(), chart.getValue());
            svg.append("</g>\n");
            place++;
        }
        return svg.append("</svg>\n").toString();
    }

    /** All values, for those who do not see them. */
    private String description(Map<String, Map<String, List<Double>>> charts) {
        List<String> sentences = new ArrayList<>();
        charts.forEach((chart, lines) -> lines.forEach((line, values) -> {
            List<String> points = new ArrayList<>();
            for (int i = 0; i < values.size(); i++) {
                points.add(number(values.get(i)) + " at " + sizeNames.get(i));
            }
            sentences.add(chart + (line.isEmpty() ? "" : ", " + line) + ": " + String.join(", ", points) + ".");
        }));
        return String.join(" ", sentences);
    }

    private void append(StringBuilder svg, String chart, Map<String, List<Double>> lines) {
        double step =
                step(lines.values().stream().mapToDouble(Collections::max).max().orElse(1));
        double highest = step * TICKS;
        svg.append(String.format("<text class=\"title\" x=\"%d\" y=\"18\">%s</text>%n", LEFT - 40, escape(chart)));
        for (int tick = 0; tick <= TICKS; tick++) {
            double y = y(tick * step, highest);
            svg.append(String.format(
                    "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                            + "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>%n",
                    LEFT, WIDTH - RIGHT, y, y, LEFT - 6, y + 4, number(tick * step)));
        }
        for (int i = 0; i < sizes.size(); i++) {
            svg.append(String.format(
                    "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>%n",
                    x(i), HEIGHT - BOTTOM + 16, escape(sizeNames.get(i))));
        }
        int line = 0;
        double legend = LEFT - 40;
        for (Map.Entry<String, List<Double>> values : lines.entrySet()) {
            append(svg, line, values.getValue(), highest);
            if (!values.getKey().isEmpty()) {
                svg.append(String.format(
                        "<text class=\"line%d\" x=\"%.0f\" y=\"34\">%s</text>%n",
                        line, legend, escape(values.getKey())));
                legend += 6.2 * values.getKey().length() + 12;
            }
            line++;
        }
    }

    private void append(StringBuilder svg, int line, List<Double> values, double highest) {
        StringBuilder points = new StringBuilder();
        for (int i = 0; i < values.size(); i++) {
            double y = y(values.get(i), highest);
            points.append(String.format("%.1f,%.1f ", x(i), y));
            svg.append(String.format("<circle class=\"line%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>", line, x(i), y));
        }
        svg.append(String.format(
                "<polyline class=\"line%d\" points=\"%s\"/>%n",
                line, points.toString().strip()));
    }

    private double x(int size) {
        double first = Math.log(sizes.get(0));
        double width = Math.log(sizes.get(sizes.size() - 1)) - first;
        int inner = WIDTH - LEFT - RIGHT;
        return LEFT + (width == 0 ? inner / 2.0 : 12 + (inner - 24) * (Math.log(sizes.get(size)) - first) / width);
    }

    private static double y(double value, double highest) {
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / highest;
    }

    /** A round number, of which {@link #TICKS} are at least the highest value. */
    private static double step(double highest) {
        double least = Math.max(highest, 1e-9) / TICKS;
        double power = Math.pow(10, Math.floor(Math.log10(least)));
        for (double round : new double[] {1, 2, 2.5, 5}) {
            if (round * power >= least) {
                return round * power;
            }
        }
        return 10 * power;
    }

    /** With at most three digits, where there are no more in front of the point. */
    static String number(double value) {
        if (value >= 999_500) {
            return trimmed(value / 1e6, "M");
        }
        return value >= 9_995 ? trimmed(value / 1e3, "k") : trimmed(value, "");
    }

    private static String trimmed(double value, String suffix) {
        String text = value >= 100
                ? String.format("%,.0f", value)
                : value >= 10 ? String.format("%.1f", value) : String.format("%.2f", value);
        return (text.contains(".") ? text.replaceAll("\\.?0+$", "") : text) + suffix;
    }

    private static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;");
    }
}
