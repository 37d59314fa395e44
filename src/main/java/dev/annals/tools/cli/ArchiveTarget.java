package dev.annals.tools.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/** The place of one archive. It gets its name only when it is whole, and replaces no other. */
interface ArchiveTarget {

    /** Writes the records of an archive. */
    interface Contents {
        void write(OutputStream out) throws IOException, InterruptedException;
    }

    /** Verifies an archive and returns its SHA-256; throws a {@link ClientFailure} if it is wrong. */
    interface Check {
        /**
         * Reads an archive to its end.
         *
         * @param shown the place, for people
         */
        String check(InputStream in, String shown) throws IOException;
    }

    /** The place, for people. */
    String shown();

    /** The name that is recorded. */
    String name();

    /** Its size, after {@link #write}. */
    long bytes() throws IOException;

    /**
     * Writes an archive, reads it back and checks it; or checks an existing one.
     *
     * @return its SHA-256
     */
    String write(Contents contents, Check check) throws IOException, InterruptedException;
}
