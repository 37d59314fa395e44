package dev.annals.core.append;

import dev.annals.kernel.database.DatabaseFailure;
import io.vertx.pgclient.PgException;
import org.jspecify.annotations.Nullable;

/** What a failed batch calls for. */
enum AppendFailure {
    /** Try again: the connection broke, the transaction lost to another one, or an append's id was taken. */
    RETRYABLE,
    /** A transaction that is still open has inserted a record with one of these ids. */
    HELD,
    /** A record with one of these ids exists. */
    DUPLICATE,
    /** One of the sequences that the records name has no number for them. */
    NO_NUMBER,
    /** The project takes no more records. */
    CLOSED,
    /** The database refuses a value of one of the records. */
    REFUSED,
    /** Anything else: trying again does not help. */
    FATAL;

    private static final String LOCK_NOT_AVAILABLE = "55P03";
    private static final String RECORD_KEY = "audit_record_pkey";

    static AppendFailure of(Throwable failure) {
        if (!(failure instanceof PgException error)) {
            return DatabaseFailure.isTransient(failure) ? RETRYABLE : FATAL;
        }
        // PostgreSQL says for what it waited, in whatever language.
        if (error.getSqlState().equals(LOCK_NOT_AVAILABLE)
                && error.getWhere() != null
                && error.getWhere().contains(RECORD_KEY)) {
            return HELD;
        }
        return DatabaseFailure.isTransient(failure) ? RETRYABLE : of(error.getSqlState(), error.getConstraint());
    }

    /** What {@code append_apart.sql} says of a request. */
    static AppendFailure ofRequest(String state, String constraint) {
        return state.equals(LOCK_NOT_AVAILABLE) ? HELD : of(state, constraint);
    }

    private static AppendFailure of(String state, @Nullable String constraint) {
        if (RECORD_KEY.equals(constraint)) {
            return DUPLICATE;
        }
        if ("audit_record_project_open".equals(constraint)) {
            return CLOSED;
        }
        if ("audit_record_number".equals(constraint)) {
            return NO_NUMBER;
        }
        if ("append_pkey".equals(constraint) || "feed_segment_append_key".equals(constraint)) {
            // Each attempt draws new ids for its appends.
            return RETRYABLE;
        }
        // 22: data exception. 23: constraint violation. 54: a limit of the server.
        return state.startsWith("22") || state.startsWith("23") || state.startsWith("54") ? REFUSED : FATAL;
    }

    /** Whether it concerns some of the requests, and the others can be stored. */
    boolean isOfSingleRequests() {
        return this == HELD || this == DUPLICATE || this == REFUSED;
    }
}
