package dev.annals.survival;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** What the faults of this run did, for {@code docs/survival.md}: one line each in {@code target/survival.md}. */
final class Survived {

    private static final Path FILE = Path.of("target", "survival.md");

    private Survived() {}

    static synchronized void note(String fault, Clients clients, Verdict verdict) throws IOException {
        String line = "| " + fault + " | " + verdict.told() + " | " + verdict.lost() + " | " + verdict.doubled() + " | "
                + (verdict.renumbered() + verdict.misnumbered()) + " | " + verdict.skipped() + " | " + clients.rewound()
                + " | " + clients.refusedWrites()
                + (clients.answers().isEmpty() ? "" : " " + clients.answers()) + " | "
                + Math.round(clients.longestPause().toMillis() / 100.0) / 10.0 + " s |\n";
        Files.writeString(FILE, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }
}
