package dev.annals.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The Markdown file with one marked section per part, so that a part can be run again without losing the others. */
final class Report {

    private static final String INTRODUCTION = """
            # Benchmarks

            Written by `mvn -Pbench verify`; run it again rather than edit it. Every comparison ran side by side in one
            run, its variants taking turns. A rate is the median of its rounds, and a ratio is the median of the ratios
            within each round. The clients share the machine with the database and the service.
            """;

    private final Path file;
    private final List<String> order;

    Report(Path file, List<String> order) {
        this.file = file;
        this.order = order;
    }

    void replace(Part part, String body) throws IOException {
        String old = Files.exists(file) ? Files.readString(file) : "";
        StringBuilder text = new StringBuilder(INTRODUCTION);
        for (String name : order) {
            String section =
                    name.equals(part.name()) ? "## " + part.title() + "\n\n" + body.strip() : section(old, name);
            if (!section.isEmpty()) {
                text.append('\n').append(begin(name)).append('\n');
                text.append(section).append('\n').append(end(name)).append('\n');
            }
        }
        if (file.getParent() != null) {
            Files.createDirectories(file.getParent());
        }
        Files.writeString(file, text);
    }

    private static String section(String text, String name) {
        Matcher section = Pattern.compile(
                        Pattern.quote(begin(name)) + "\n(.*?)\n" + Pattern.quote(end(name)), Pattern.DOTALL)
                .matcher(text);
        return section.find() ? section.group(1) : "";
    }

    private static String begin(String name) {
        return "<!-- begin " + name + " -->";
    }

    private static String end(String name) {
        return "<!-- end " + name + " -->";
    }
}
