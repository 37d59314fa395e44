package dev.annals.bench;

/** Prints the progress of the benchmarks. */
public final class Progress {

    private Progress() {}

    /** Prints a line. */
    @SuppressWarnings("SystemOut") // a program for the terminal
    public static void say(String line) {
        System.out.println(line);
    }
}
