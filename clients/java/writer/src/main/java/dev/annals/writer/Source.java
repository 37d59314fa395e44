package dev.annals.writer;

import java.io.IOException;
import java.util.List;

/** Where the records to be sent come from, oldest first: memory, or a spool. For one thread. */
interface Source {

    /**
     * Waits for records, and gives the oldest, of which there is at least one; null once it is closed and empty, or stopped.
     *
     * @throws IOException if they cannot be read now; they are still there
     */
    List<Entry> next() throws IOException;

    /** All that was given last is stored or refused, and need not be kept. */
    void settled();
}
