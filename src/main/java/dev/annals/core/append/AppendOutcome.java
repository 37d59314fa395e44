package dev.annals.core.append;

import dev.annals.access.caller.Caller;
import dev.annals.core.record.RecordReader;
import dev.annals.core.record.StoredRecord;
import dev.annals.kernel.http.FieldError;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import java.util.List;
import java.util.function.IntFunction;

/** The outcome of an append, which is stored whole or not at all. */
sealed interface AppendOutcome {

    /**
     * The stored records.
     *
     * @throws RuntimeException if they are not stored; see {@link NotStored#toException}
     */
    default Stored orThrow(IntFunction<String> pointer) {
        if (this instanceof NotStored failure) {
            throw failure.toException(pointer);
        }
        return (Stored) this;
    }

    /**
     * All records are stored.
     *
     * @param records as they are stored, in the order sent
     * @param added how many of them this append stored; 0 if it is a duplicate. The others had been stored before with the
     *     same content, possibly by an earlier attempt at this append whose answer was lost, if the client chose their ids
     */
    record Stored(List<StoredRecord> records, int added) implements AppendOutcome {}

    /** The append is not stored. */
    sealed interface NotStored extends AppendOutcome {

        /**
         * The exception that answers the client.
         *
         * @param pointer the JSON pointer of a record in the body, by the record's index
         */
        RuntimeException toException(IntFunction<String> pointer);
    }

    /** Some records cannot be stored. */
    record Rejected(Reason reason, List<Rejection> rejections) implements NotStored {

        @Override
        public RuntimeException toException(IntFunction<String> pointer) {
            List<FieldError> errors = rejections.stream()
                    .limit(RecordReader.MAX_ERRORS)
                    .map(rejection -> rejection.error(pointer.apply(rejection.index())))
                    .toList();
            Problem problem = reason == Reason.ID_TAKEN
                    ? idTaken()
                    : Problem.of(
                            ProblemType.INVALID_RECORD,
                            "Not every record can get the number that it asks for, so nothing was stored: correct what errors names");
            return new ProblemException(problem.withErrors(errors));
        }

        /** The problem of one rejected record that was sent as a line. */
        Problem ofLine(Rejection rejection) {
            return reason == Reason.ID_TAKEN
                    ? idTaken()
                    : Problem.of(
                                    ProblemType.INVALID_RECORD,
                                    "The record cannot get a number, so the line was not stored")
                            .withErrors(List.of(rejection.error("")));
        }

        private static Problem idTaken() {
            return Problem.of(
                    ProblemType.RECORD_ID_TAKEN,
                    "A record with this id and other content is already stored. To add a record, give it an id of its own; to"
                            + " retry one, send it unchanged.");
        }
    }

    /** The reason why records are rejected. */
    enum Reason {
        /** Their ids belong to records with other content. */
        ID_TAKEN,
        /** They cannot have the numbers that they ask for. */
        NO_NUMBER
    }

    /**
     * An error in one record.
     *
     * @param index the record's index in the append
     * @param field its field, as a JSON pointer into the record
     */
    record Rejection(int index, String field, String why) {

        private FieldError error(String record) {
            return new FieldError(record + field, why);
        }
    }

    /** The database refuses a value in one of the records, and does not say in which. */
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

    /** The project accepts no more records. */
    record ProjectClosed() implements NotStored {

        @Override
        public RuntimeException toException(IntFunction<String> pointer) {
            return Caller.projectClosed();
        }
    }

    /** The queue is full. */
    record QueueFull(String why) implements NotStored {

        @Override
        public RuntimeException toException(IntFunction<String> pointer) {
            return new ProblemException(ProblemType.QUEUE_FULL, why);
        }
    }

    /** An earlier append of the same {@link AppendRequest.Series} was not stored. */
    record EarlierFailed() implements NotStored {

        @Override
        public RuntimeException toException(IntFunction<String> pointer) {
            return new IllegalStateException("an earlier append of the series was not stored");
        }
    }

    /** The database accepts no records now. Unless {@code why} says otherwise, they may have been stored. */
    record Unavailable(String why) implements NotStored {

        @Override
        public RuntimeException toException(IntFunction<String> pointer) {
            return new ProblemException(ProblemType.UNAVAILABLE, why);
        }
    }

    /** An unexpected failure. */
    record Failed(Throwable cause) implements NotStored {

        @Override
        public RuntimeException toException(IntFunction<String> pointer) {
            return new IllegalStateException("records were not written", cause);
        }
    }
}
