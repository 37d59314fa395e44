package dev.annals.command;

import java.io.IOException;

/** Whether somebody sits there. */
public final class Terminals {

    private Terminals() {}

    /**
     * Whether a stream is a terminal.
     *
     * @param stream 0 for standard input, 1 for standard output, 2 for standard error
     */
    public static boolean isTerminal(int stream) throws InterruptedException {
        try {
            // What System.console() says depends on the release of Java, and on standard output.
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
