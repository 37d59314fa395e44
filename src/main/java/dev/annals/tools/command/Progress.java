package dev.annals.tools.command;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** A line on a terminal that shows the progress of a command, at most once a second. */
public final class Progress {

    private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Consumer<String> line;
    private long shown = System.nanoTime() - INTERVAL_NANOS;
    private boolean any;

    private Progress(Consumer<String> line) {
        this.line = line;
    }

    /** Shows nothing. */
    public static Progress none() {
        return new Progress(text -> {});
    }

    /** Writes to standard error, if that is a terminal. */
    @SuppressWarnings("SystemOut") // a command line tool
    public static Progress onTerminal() throws InterruptedException {
        if (!Terminals.isTerminal(2)) {
            return none();
        }
        PrintStream error = new PrintStream(System.err, true, StandardCharsets.UTF_8);
        return new Progress(text -> {
            error.print(text + "\u001b[K\r");
            error.flush();
        });
    }

    /**
     * Replaces the line, unless it was shown within the last second.
     *
     * @param text without control characters
     */
    public void show(String text) {
        long now = System.nanoTime();
        if (now - shown > INTERVAL_NANOS) {
            shown = now;
            any = true;
            line.accept(text);
        }
    }

    /** Clears the line. */
    public void end() {
        if (any) {
            line.accept("");
        }
    }
}
