package dev.annals.writer;

import java.io.IOException;
import java.util.List;

/** A queue of records to send, oldest first: memory or a spool. For one thread. */
interface Source {

    /**
     * Waits for the oldest records, at least one; null once the source is closed and empty, or stopped.
     *
     * @throws IOException if the records cannot be read now; they are not lost
     */
    List<Entry> next() throws IOException;

    /**
     * Removes the records that {@link #next} returned last: all are stored or refused.
     *
     * @throws IOException if they stay, and are sent again
     */
    void settled() throws IOException;
}
