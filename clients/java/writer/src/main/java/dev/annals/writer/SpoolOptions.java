package dev.annals.writer;

import java.nio.file.Path;
import java.util.Objects;

/** Where and how records are kept on disk until the service has stored them. */
public final class SpoolOptions {

    private static final long SMALLEST_SEGMENT = 512 * 1024;

    final Path folder;
    long maxBytes = 1L << 30;
    long segmentBytes = 16L << 20;
    boolean force = true;

    private SpoolOptions(Path folder) {
        this.folder = Objects.requireNonNull(folder, "folder");
    }

    /** A spool in this folder, which one process uses at a time. It is made if it is missing. */
    public static SpoolOptions in(Path folder) {
        return new SpoolOptions(folder);
    }

    /** How many bytes it may have on disk; beyond that, appends have to wait. 1 GiB by default. */
    public SpoolOptions maxBytes(long bytes) {
        this.maxBytes = bytes;
        return this;
    }

    /** At how many bytes a file is full; a file whose records are all stored is deleted. 16 MiB by default. */
    public SpoolOptions segmentBytes(long bytes) {
        this.segmentBytes = bytes;
        return this;
    }

    /**
     * Whether records are acknowledged only once the disk has them, so that they survive a loss of power; many share one wait.
     * That is the default. Without it they are acknowledged when the operating system has them, and survive the end of the
     * application alone.
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
