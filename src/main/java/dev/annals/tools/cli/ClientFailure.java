package dev.annals.tools.cli;

import java.io.Serial;

/** Ends a command with an exit code and a sentence for people. */
final class ClientFailure extends RuntimeException {

    static final int FAILED = 1;
    static final int USAGE = 2;
    static final int TOKEN = 3;
    static final int REWOUND = 4;
    static final int REFUSED = 5;
    static final int FORKED = 6;
    static final int EXPIRED = 7;
    /** Values are gone, and the record of the log that says so is not among what was given. */
    static final int UNNAMED = 8;
    /** The log has ended: another one with another key goes on. */
    static final int ENDED = 9;
    /** As of a program that a shell sees end by the signal for a closed pipe. */
    static final int NOBODY_READS = 141;

    @Serial
    private static final long serialVersionUID = 1;

    private final int exitCode;
    private final int position;

    ClientFailure(int exitCode, String message) {
        this(exitCode, message, 0);
    }

    /** @param position at which character of a query it is, from 1; 0 if it is about none */
    ClientFailure(int exitCode, String message, int position) {
        super(message, null, false, false);
        this.exitCode = exitCode;
        this.position = position;
    }

    int position() {
        return position;
    }

    int exitCode() {
        return exitCode;
    }
}
