package dev.annals.core.query;

import java.io.Serial;

/** A text that is no query, and where. */
public final class QueryException extends Exception {

    @Serial
    private static final long serialVersionUID = 1;

    private final int position;

    /** @param position of the first character that cannot be taken, from 1 */
    QueryException(int position, String message) {
        super(message, null, false, false);
        this.position = position;
    }

    /**
     * Which character of the text cannot be taken, from 1: Unicode characters, of which some are two of Java's. One more than
     * the text has if something is missing at its end.
     */
    public int position() {
        return position;
    }
}
