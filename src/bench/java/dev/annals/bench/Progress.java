package dev.annals.bench;

/** What the benchmarks tell whoever waits for them. */
public final class Progress {

    private Progress() {}

    /** Prints a line. */
    @SuppressWarnings("SystemOut") // a program for the terminal
    public static void say(String line) {
        System.out.println(line);
    }
}
