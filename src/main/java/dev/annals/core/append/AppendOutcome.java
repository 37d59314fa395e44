package dev.annals.core.append;

import dev.annals.core.record.StoredRecord;
import java.util.List;

/** What became of an append. It is stored whole or not at all. */
sealed interface AppendOutcome {

    /**
     * All records are stored, at least one of them by this append.
     *
     * @param records as they are stored, in the order sent
     * @param added how many of them this append stored. The others had been stored before with the same content, possibly by
     *     an earlier attempt at this append whose answer was lost, if the client chose their ids
     */
    record Stored(List<StoredRecord> records, int added) implements AppendOutcome {}

    /**
     * All records had been stored before, with the same content.
     *
     * @param records as they are stored, in the order sent
     */
    record Duplicate(List<StoredRecord> records) implements AppendOutcome {}

    /** Some records cannot be stored, so none of the append is. */
    record Rejected(Reason reason, List<Rejection> rejections) implements AppendOutcome {}

    /** Why records are rejected. */
    enum Reason {
        /** Their ids belong to records with other content. */
        ID_TAKEN,
        /** They cannot have the numbers that they want. */
        NO_NUMBER
    }

    /**
     * What is wrong with one record.
     *
     * @param index the record's place in the append
     * @param field its field, as a JSON pointer into the record
     */
    record Rejection(int index, String field, String why) {}

    /** The database refuses a value in one of the records, and does not say in which. */
    record RejectedByDatabase(String sqlState) implements AppendOutcome {}

    /** The project takes no more records; none was stored. */
    record ProjectClosed() implements AppendOutcome {}

    /** Too much waits already; nothing was done. */
    record QueueFull(String why) implements AppendOutcome {}

    /** Nothing was done, because an append before this one in its {@link Chain} was not stored. */
    record ChainBroken() implements AppendOutcome {}

    /** The database cannot take the records now. Unless {@code why} says otherwise, they may have been stored. */
    record Unavailable(String why) implements AppendOutcome {}

    /** An unexpected failure. */
    record Failed(Throwable cause) implements AppendOutcome {}
}
