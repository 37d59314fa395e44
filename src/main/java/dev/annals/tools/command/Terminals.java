package dev.annals.tools.command;

import java.io.IOException;
import java.nio.file.Path;

/** Tells terminals and closed streams. */
public final class Terminals {

    private Terminals() {}

    /**
     * True if a stream was closed when the process began, as far as the system shows. Java then opens its own files under that number.
     *
     * @param stream 0 for standard input, 1 for standard output, 2 for standard error
     */
    public static boolean isClosed(int stream) {
        try {
            Path opened = Path.of("/proc/self/fd/" + stream).toRealPath();
            String name = String.valueOf(opened.getFileName());
            return opened.startsWith(
                            Path.of(System.getProperty("java.home", "/none")).toRealPath())
                    || name.endsWith(".jar")
                    || name.endsWith(".jsa");
        } catch (IOException e) {
            return false; // a pipe, a socket, or a system without /proc
        }
    }

    /**
     * True if a stream is a terminal.
     *
     * @param stream 0 for standard input, 1 for standard output, 2 for standard error
     */
    public static boolean isTerminal(int stream) throws InterruptedException {
        try {
            // System.console() depends on the release of Java, and on standard output.
            return new ProcessBuilder("test", "-t", Integer.toString(stream))
                            .inheritIO()
                            .start()
                            .waitFor()
                    == 0;
        } catch (IOException e) {
            return false; // an image without a shell
        }
    }
}
