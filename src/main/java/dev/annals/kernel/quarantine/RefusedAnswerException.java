package dev.annals.kernel.quarantine;

import java.io.Serial;

/** A server sent what no honest server sends, and its connection is closed. */
public final class RefusedAnswerException extends RuntimeException {

    @Serial
    private static final long serialVersionUID = 1;

    RefusedAnswerException(String message) {
        super(message, null, false, false);
    }
}
