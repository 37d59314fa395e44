package dev.annals.edges.delivery;

import java.io.Serial;

/** What a sink did that it should not have done. The message is for people, and has no secret. */
final class SinkException extends RuntimeException {

    @Serial
    private static final long serialVersionUID = 1;

    SinkException(String message) {
        super(message, null, false, false);
    }
}
