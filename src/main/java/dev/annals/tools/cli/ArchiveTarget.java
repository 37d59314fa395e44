package dev.annals.tools.cli;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.zip.GZIPOutputStream;

/** The place of one archive. It gets its name only when it is whole, and replaces no other. */
interface ArchiveTarget {

    int BUFFER_BYTES = 65_536;

    /** Writes the records of an archive. */
    interface Contents {

        void write(OutputStream out) throws IOException, InterruptedException;

        /** Writes them compressed, and leaves {@code file} open. */
        default void writePacked(OutputStream file) throws IOException, InterruptedException {
            GZIPOutputStream packed = new GZIPOutputStream(file, BUFFER_BYTES);
            OutputStream out = new BufferedOutputStream(packed, BUFFER_BYTES);
            write(out);
            out.flush();
            packed.finish();
        }
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
