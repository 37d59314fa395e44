package dev.annals.core.append;

import dev.annals.access.caller.Caller;
import dev.annals.core.record.RecordReader;
import dev.annals.core.record.StoredRecord;
import dev.annals.kernel.database.ElsewhereException;
import dev.annals.kernel.http.FieldError;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import java.util.List;
import java.util.function.IntFunction;

/** The outcome of an append, which is stored whole or not at all. */
sealed interface AppendOutcome {

    /** Throws {@link NotStored#toException} if the records are not stored. */
    default Stored orThrow(IntFunction<String> pointer) {
        if (this instanceof NotStored failure) {
            throw failure.toException(pointer);
        }
        return (Stored) this;
    }

    /**
     * All records are stored.
     *
     * @param records in the order sent
     * @param added how many of them this append stored. The others were stored before, possibly by an earlier attempt
     */
    record Stored(List<StoredRecord> records, int added) implements AppendOutcome {}

    sealed interface NotStored extends AppendOutcome {

        /** The answer to the client. {@code pointer} turns the index of a record into its JSON pointer in the body. */
        RuntimeException toException(IntFunction<String> pointer);
    }

    record Rejected(Reason reason, List<Rejection> rejections) implements NotStored {

        @Override
        public RuntimeException toException(IntFunction<String> pointer) {
            List<FieldError> errors = rejections.stream()
                    .limit(RecordReader.MAX_ERRORS)
                    .map(rejection -> rejection.error(pointer.apply(rejection.index())))
                    .toList();
            Problem problem = switch (reason) {
                case ID_TAKEN -> idTaken();
                case NO_NUMBER ->
                    invalid("Not every record can get the number that it asks for, so nothing was stored: correct what"
                            + " errors names");
                case MISFIT ->
                    invalid("Not every record fits the project's catalogue of actions, so nothing was stored: correct"
                            + " what errors names");
            };
            return new ProblemException(problem.withErrors(errors));
        }

        Problem ofLine(Rejection rejection) {
            return switch (reason) {
                case ID_TAKEN -> idTaken();
                case NO_NUMBER ->
                    invalid("The record cannot get a number, so the line was not stored")
                            .withErrors(List.of(rejection.error("")));
                case MISFIT ->
                    invalid("The record does not fit the project's catalogue of actions, so the line was not stored")
                            .withErrors(List.of(rejection.error("")));
            };
        }

        private static Problem invalid(String detail) {
            return Problem.of(ProblemType.INVALID_RECORD, detail);
        }

        private static Problem idTaken() {
            return Problem.of(
                    ProblemType.RECORD_ID_TAKEN,
                    "A record with this id and other content is already stored. To add a record, give it an id of its own; to"
                            + " retry one, send it unchanged.");
        }
    }

    enum Reason {
        /** Records with other content have these ids. */
        ID_TAKEN,
        /** Sequences have no numbers for the records. */
        NO_NUMBER,
        /** The project's catalogue of actions refuses the records. */
        MISFIT
    }

    /**
     * An error in one record.
     *
     * @param index the record's index in the append
     * @param field a JSON pointer into the record
     */
    record Rejection(int index, String field, String why) {

        private FieldError error(String record) {
            return new FieldError(record + field, why);
        }
    }

    /** The database does not say which record it refuses. */
    record RejectedByDatabase(String sqlState) implements NotStored {

        Problem problem() {
            return Problem.of(
                    ProblemType.INVALID_RECORD,
                    "The database refuses a value in the records (SQLSTATE " + sqlState + "), so nothing was"
                            + " stored. Send them one by one to find out which.");
        }

        @Override
        public RuntimeException toException(IntFunction<String> pointer) {
            return new ProblemException(problem());
        }
    }

    record ProjectClosed() implements NotStored {

        @Override
        public RuntimeException toException(IntFunction<String> pointer) {
            return Caller.projectClosed();
        }
    }

    record Elsewhere(ElsewhereException why) implements NotStored {

        @Override
        public RuntimeException toException(IntFunction<String> pointer) {
            return why;
        }
    }

    record QueueFull(String why) implements NotStored {

        @Override
        public RuntimeException toException(IntFunction<String> pointer) {
            return new ProblemException(ProblemType.QUEUE_FULL, why);
        }
    }

    /** See {@link AppendRequest.Series}. */
    record EarlierFailed() implements NotStored {

        @Override
        public RuntimeException toException(IntFunction<String> pointer) {
            return new IllegalStateException("an earlier append of the series was not stored");
        }
    }

    /** Unless {@code why} says otherwise, the records may have been stored. */
    record Unavailable(String why) implements NotStored {

        @Override
        public RuntimeException toException(IntFunction<String> pointer) {
            return new ProblemException(ProblemType.UNAVAILABLE, why);
        }
    }

    record Failed(Throwable cause) implements NotStored {

        @Override
        public RuntimeException toException(IntFunction<String> pointer) {
            return new IllegalStateException("records were not written", cause);
        }
    }
}
