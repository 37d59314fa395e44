package dev.annals.append;

import dev.annals.problem.ProblemException;
import dev.annals.problem.ProblemType;
import io.vertx.core.VertxException;
import io.vertx.core.impl.NoStackTraceThrowable;
import io.vertx.pgclient.PgException;
import java.io.IOException;

/** What a failed batch calls for. */
enum AppendFailure {
    /** Try again: the connection broke, or the transaction had to give way to another. */
    GIVE_WAY,
    /** A record with one of these ids exists. */
    TAKEN,
    /** The database refuses a value of one of the records. */
    REFUSED,
    /** Anything else: trying again does not help. */
    BROKEN;

    static AppendFailure of(Throwable failure) {
        if (!(failure instanceof PgException error)) {
            return failure instanceof VertxException || failure instanceof IOException || failure instanceof NoStackTraceThrowable
                    ? GIVE_WAY
                    : BROKEN;
        }
        String state = error.getSqlState();
        if ("audit_record_pkey".equals(error.getConstraint())) {
            return TAKEN;
        }
        // 40: serialization failure, deadlock. 08, 57, 53: the server went, stops, was too slow, or is out of something.
        // 55P03: the lock was not to be had in time. 25006: a failover left us on a standby.
        if (state.startsWith("40") || state.startsWith("08") || state.startsWith("57") || state.startsWith("53")
                || state.equals("55P03") || state.equals("25006")) {
            return GIVE_WAY;
        }
        // 22: data exception. 23: constraint violation. 54: a limit of the server.
        return state.startsWith("22") || state.startsWith("23") || state.startsWith("54") ? REFUSED : BROKEN;
    }

    static ProblemException asProblem(Throwable failure) {
        if (of(failure) == REFUSED) {
            return new ProblemException(
                    ProblemType.INVALID_RECORD,
                    "The database refuses the record: " + ((PgException) failure).getErrorMessage());
        }
        return new ProblemException(ProblemType.UNAVAILABLE, "The database could not take the records in time. They may have been stored: send the request again"
                        + " with the same ids.");
    }
}
