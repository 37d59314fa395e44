package dev.annals.core.append;

import dev.annals.access.caller.Caller;
import dev.annals.core.append.AppendOutcome.Reason;
import dev.annals.core.append.AppendOutcome.Rejection;
import dev.annals.core.record.RecordReader;
import dev.annals.kernel.http.FieldError;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import java.util.List;
import java.util.function.IntFunction;

/** What clients are told about appends that were not stored. */
final class AppendProblems {

    private AppendProblems() {}

    /**
     * What a request ends with.
     *
     * @param outcome any outcome that stores nothing
     * @param pointer where a record stands in the body, as a JSON pointer, by the record's index
     */
    static RuntimeException of(AppendOutcome outcome, IntFunction<String> pointer) {
        if (outcome instanceof AppendOutcome.Rejected rejected) {
            List<FieldError> errors = rejected.rejections().stream()
                    .limit(RecordReader.MAX_ERRORS)
                    .map(rejection -> error(rejection, pointer.apply(rejection.index())))
                    .toList();
            Problem problem = rejected.reason() == Reason.ID_TAKEN
                    ? idTaken()
                    : Problem.of(
                            ProblemType.INVALID_RECORD,
                            "Not every record can get the number that it asks for, so nothing was stored: correct what errors names");
            return new ProblemException(problem.withErrors(errors));
        }
        if (outcome instanceof AppendOutcome.RejectedByDatabase rejected) {
            return new ProblemException(ofValue(rejected));
        }
        if (outcome instanceof AppendOutcome.ProjectClosed) {
            return Caller.projectClosed();
        }
        if (outcome instanceof AppendOutcome.QueueFull full) {
            return new ProblemException(ProblemType.QUEUE_FULL, full.why());
        }
        if (outcome instanceof AppendOutcome.Unavailable unavailable) {
            return new ProblemException(ProblemType.UNAVAILABLE, unavailable.why());
        }
        return new IllegalStateException(
                "records were not written", outcome instanceof AppendOutcome.Failed failed ? failed.cause() : null);
    }

    /** The problem that a rejected record's line is refused with. */
    static Problem ofLine(Reason reason, Rejection rejection) {
        return reason == Reason.ID_TAKEN
                ? idTaken()
                : Problem.of(ProblemType.INVALID_RECORD, "The record cannot get a number, so the line was not stored")
                        .withErrors(List.of(error(rejection, "")));
    }

    /** The problem for records in which the database refuses a value. */
    static Problem ofValue(AppendOutcome.RejectedByDatabase rejected) {
        return Problem.of(
                ProblemType.INVALID_RECORD,
                "The database refuses a value in the records (SQLSTATE " + rejected.sqlState() + "), so nothing was"
                        + " stored. Send them one by one to find out which.");
    }

    private static Problem idTaken() {
        return Problem.of(
                ProblemType.RECORD_ID_TAKEN,
                "A record with this id and other content is already stored. To add a record, give it an id of its own; to"
                        + " retry one, send it unchanged.");
    }

    private static FieldError error(Rejection rejection, String record) {
        return new FieldError(record + rejection.field(), rejection.why());
    }
}
