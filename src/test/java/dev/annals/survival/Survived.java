package dev.annals.survival;

import dev.annals.survival.Verdict.Entry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;

/** The results of this run's faults, for {@code docs/survival.md}: one line each in {@code target/survival.md}. */
final class Survived {

    private static final Path FILE = Path.of("target", "survival.md");
    private static final Path AGAIN_AND_AGAIN = Path.of("target", "survival-repeated.md");
    private static final Path WATCHED = Path.of("target", "survival-repeated.log");
    private static final String HEAD = """
            | fault | tried | records | readers | lost | doubled | wrong place | skipped | refused | recovery, median | worst |
            |---|---|---|---|---|---|---|---|---|---|---|
            """;

    private Survived() {}

    static synchronized void note(String fault, Clients clients, Verdict verdict) throws IOException {
        String line = "| " + fault + " | " + verdict.told() + " | " + verdict.lost() + " | " + verdict.doubled() + " | "
                + (verdict.renumbered() + verdict.misnumbered()) + " | " + verdict.skipped() + " | " + clients.rewound()
                + " | " + clients.refusedWrites()
                + (clients.answers().isEmpty() ? "" : " " + clients.answers()) + " | "
                + Math.round(clients.longestPause().toMillis() / 100.0) / 10.0 + " s |\n";
        Files.writeString(FILE, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    /** The result of a repeated fault, in its own table. */
    static synchronized void note(String fault, List<Duration> recoveries, Clients clients, Verdict verdict)
            throws IOException {
        List<Duration> sorted = recoveries.stream().sorted().toList();
        String line = String.format(
                Locale.ROOT,
                "| %s | %,d | %,d | %d | %,d | %,d | %,d | %,d | %,d | %s | %s |%n",
                fault,
                sorted.size(),
                verdict.told(),
                clients.readers(),
                verdict.lost(),
                verdict.doubled(),
                verdict.renumbered() + verdict.misnumbered(),
                verdict.skipped(),
                clients.refusedWrites(),
                seconds(median(sorted)),
                seconds(sorted.get(sorted.size() - 1)));
        Files.writeString(
                AGAIN_AND_AGAIN,
                Files.exists(AGAIN_AND_AGAIN) ? line : HEAD + line,
                StandardOpenOption.CREATE,
                StandardOpenOption.APPEND);
    }

    /** One occurrence of a repeated fault, printed to show the progress of a long run. */
    static synchronized void happened(String fault, int times, Duration recovery, Clients clients) throws IOException {
        Files.writeString(
                WATCHED,
                Instant.now() + " " + fault + ", no. " + times + ": recovered within " + seconds(recovery) + "; "
                        + clients + "\n",
                StandardOpenOption.CREATE,
                StandardOpenOption.APPEND);
    }

    /** The places where readers differ from the feed, to find the cause. */
    static synchronized void parted(List<String> tellings, List<Entry> feed, List<List<Entry>> readers)
            throws IOException {
        StringBuilder said = new StringBuilder();
        tellings.forEach(each -> said.append(each).append('\n'));
        said.append("the feed has ").append(feed.size()).append(" records\n");
        for (List<Entry> reader : readers) {
            int same = 0;
            while (same < Math.min(reader.size(), feed.size())
                    && reader.get(same).equals(feed.get(same))) {
                same++;
            }
            said.append("a reader has ")
                    .append(reader.size())
                    .append(", the first ")
                    .append(same)
                    .append(" as the feed\n");
        }
        Files.writeString(WATCHED, said, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    private static Duration median(List<Duration> sorted) {
        int size = sorted.size();
        return sorted.get((size - 1) / 2).plus(sorted.get(size / 2)).dividedBy(2);
    }

    private static String seconds(Duration duration) {
        return String.format(Locale.ROOT, "%.1f s", duration.toMillis() / 1000.0);
    }
}
