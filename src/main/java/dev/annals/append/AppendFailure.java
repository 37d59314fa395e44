package dev.annals.append;

import dev.annals.database.DatabaseFailure;
import dev.annals.http.ProblemException;
import dev.annals.http.ProblemType;
import io.vertx.pgclient.PgException;

/** What a failed batch calls for. */
enum AppendFailure {
    /** Try again: the connection broke, the transaction had to give way to another, or an append's id was taken. */
    GIVE_WAY,
    /** A record with one of these ids exists. */
    TAKEN,
    /** One of the sequences that the records name has no number for them. */
    NO_NUMBER,
    /** The database refuses a value of one of the records. */
    REFUSED,
    /** Anything else: trying again does not help. */
    BROKEN;

    static AppendFailure of(Throwable failure) {
        if (DatabaseFailure.isTransient(failure)) {
            return GIVE_WAY;
        }
        if (!(failure instanceof PgException error)) {
            return BROKEN;
        }
        String constraint = error.getConstraint();
        if ("audit_record_pkey".equals(constraint)) {
            return TAKEN;
        }
        if ("audit_record_number".equals(constraint)) {
            return NO_NUMBER;
        }
        if ("append_pkey".equals(constraint) || "feed_segment_append_key".equals(constraint)) {
            // Each try draws the ids of its appends anew.
            return GIVE_WAY;
        }
        // 22: data exception. 23: constraint violation. 54: a limit of the server.
        String state = error.getSqlState();
        return state.startsWith("22") || state.startsWith("23") || state.startsWith("54") ? REFUSED : BROKEN;
    }

    static ProblemException asProblem(Throwable failure) {
        if (of(failure) == REFUSED && failure instanceof PgException error) {
            return new ProblemException(
                    ProblemType.INVALID_RECORD,
                    "The database refuses a value of the records (SQLSTATE " + error.getSqlState() + "), so nothing was"
                            + " stored. Send them one by one to find out which.");
        }
        return new ProblemException(
                ProblemType.UNAVAILABLE,
                "The database could not take the records in time. They may have been stored: send the request again"
                        + " with the same ids.");
    }
}
