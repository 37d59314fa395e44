package dev.annals.append;

import dev.annals.database.DatabaseFailure;
import io.vertx.pgclient.PgException;

/** What a failed batch calls for. */
enum AppendFailure {
    /** Try again: the connection broke, the transaction lost to another one, or an append's id was taken. */
    RETRYABLE,
    /** A record with one of these ids exists. */
    DUPLICATE,
    /** One of the sequences that the records name has no number for them. */
    NO_NUMBER,
    /** The database refuses a value of one of the records. */
    REFUSED,
    /** Anything else: trying again does not help. */
    FATAL;

    static AppendFailure of(Throwable failure) {
        if (DatabaseFailure.isTransient(failure)) {
            return RETRYABLE;
        }
        if (!(failure instanceof PgException error)) {
            return FATAL;
        }
        String constraint = error.getConstraint();
        if ("audit_record_pkey".equals(constraint)) {
            return DUPLICATE;
        }
        if ("audit_record_number".equals(constraint)) {
            return NO_NUMBER;
        }
        if ("append_pkey".equals(constraint) || "feed_segment_append_key".equals(constraint)) {
            // Each attempt draws new ids for its appends.
            return RETRYABLE;
        }
        // 22: data exception. 23: constraint violation. 54: a limit of the server.
        String state = error.getSqlState();
        return state.startsWith("22") || state.startsWith("23") || state.startsWith("54") ? REFUSED : FATAL;
    }
}
