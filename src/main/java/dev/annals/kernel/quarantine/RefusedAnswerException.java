package dev.annals.kernel.quarantine;

import java.io.Serial;

/**
 * A server sent a message that no honest server sends, and its connection is closed. The message is a sentence about the
 * server.
 */
public final class RefusedAnswerException extends RuntimeException {

    @Serial
    private static final long serialVersionUID = 1;

    RefusedAnswerException(String message) {
        super(message, null, false, false);
    }
}
