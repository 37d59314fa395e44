package dev.annals.proof;

import jakarta.annotation.Nullable;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;

/** Reads lines that end with a line feed. */
public final class LineReader {

    /** Represents a line that is too long. Its bytes are skipped. */
    public static final byte[] TOO_LONG = {};

    private static final int MAX_LINE_BYTES = 1 << 20;

    private final InputStream in;
    private final int maxLineBytes;
    private final byte[] buffer = new byte[65_536];
    private int position;
    private int limit;

    /** Reads lines of at most 1 MiB. */
    public LineReader(InputStream in) {
        this(in, MAX_LINE_BYTES);
    }

    /** Longer lines are {@link #TOO_LONG}. */
    public LineReader(InputStream in, int maxLineBytes) {
        this.in = in;
        this.maxLineBytes = maxLineBytes;
    }

    /** The line is without its end. Returns null at the end of the input. */
    public @Nullable byte[] next() throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        boolean any = false;
        while (true) {
            if (position == limit) {
                limit = Math.max(0, in.read(buffer));
                position = 0;
                if (limit == 0) {
                    return any ? whole(line) : null;
                }
            }
            any = true;
            int end = position;
            while (end < limit && buffer[end] != '\n') {
                end++;
            }
            if (line.size() <= maxLineBytes) {
                line.write(buffer, position, end - position);
            }
            position = end;
            if (end < limit) {
                position++;
                return whole(line);
            }
        }
    }

    private byte[] whole(ByteArrayOutputStream line) {
        return line.size() > maxLineBytes ? TOO_LONG : line.toByteArray();
    }

    /** Whether a part of the next line can be read without waiting. */
    public boolean hasMore() throws IOException {
        return position < limit || in.available() > 0;
    }
}
