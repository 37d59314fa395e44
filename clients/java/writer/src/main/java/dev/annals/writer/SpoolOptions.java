package dev.annals.writer;

import java.nio.file.Path;
import java.util.Objects;

/** The options of a spool, which keeps records on disk until the service has stored them. */
public final class SpoolOptions {

    private static final long SMALLEST_SEGMENT = 512 * 1024;

    final Path folder;
    long maxBytes = 1L << 30;
    long segmentBytes = 16L << 20;
    boolean force = true;

    private SpoolOptions(Path folder) {
        this.folder = Objects.requireNonNull(folder, "folder");
    }

    /** One process uses the folder at a time. It is made if it is missing. */
    public static SpoolOptions in(Path folder) {
        return new SpoolOptions(folder);
    }

    /** Appends wait while the spool is full. 1 GiB by default. */
    public SpoolOptions maxBytes(long bytes) {
        this.maxBytes = bytes;
        return this;
    }

    /** The size of one file. A file is deleted when all its records are stored. 16 MiB by default. */
    public SpoolOptions segmentBytes(long bytes) {
        this.segmentBytes = bytes;
        return this;
    }

    /**
     * Whether records are acknowledged only once they are on the disk, which many records await together. True by default: acknowledged
     * records survive a loss of power. If false, they survive only the end of the application.
     */
    public SpoolOptions force(boolean force) {
        this.force = force;
        return this;
    }

    void check() {
        if (segmentBytes < SMALLEST_SEGMENT || maxBytes < 2 * segmentBytes) {
            throw new IllegalArgumentException("A spool's file may be full at " + SMALLEST_SEGMENT
                    + " bytes at the least, and the spool has room for two such files; not " + segmentBytes + " and "
                    + maxBytes);
        }
    }
}
