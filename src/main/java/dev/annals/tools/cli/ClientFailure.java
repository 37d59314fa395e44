package dev.annals.tools.cli;

import java.io.Serial;

/** Ends a command with an exit code and a sentence. */
final class ClientFailure extends RuntimeException {

    static final int FAILED = 1;
    static final int USAGE = 2;
    static final int TOKEN = 3;
    static final int REWOUND = 4;
    static final int REFUSED = 5;
    static final int FORKED = 6;
    static final int EXPIRED = 7;
    /** Values are redacted, and the records at hand do not include the annals.redact record. */
    static final int UNNAMED = 8;
    /** The log has ended. Another one, with another key, continues it. */
    static final int ENDED = 9;
    /** The exit code of a shell for SIGPIPE. */
    static final int CLOSED_PIPE = 141;

    @Serial
    private static final long serialVersionUID = 1;

    private final int exitCode;
    private final int position;

    ClientFailure(int exitCode, String message) {
        this(exitCode, message, 0);
    }

    /** @param position of the character in a query, from 1; 0 for none */
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
