package dev.annals.proof;

import jakarta.annotation.Nullable;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;

/** Reads lines of bytes that end with a line feed, and tells whether another one can be read without waiting. */
public final class LineReader {

    /** Stands for a line that is longer than any record; its bytes are skipped. */
    public static final byte[] TOO_LONG = {};

    private static final int MAX_LINE_BYTES = 1 << 20;

    private final InputStream in;
    private final int maxLineBytes;
    private final byte[] buffer = new byte[65_536];
    private int position;
    private int limit;

    /** Lines of at most 1 MiB; longer ones are skipped. */
    public LineReader(InputStream in) {
        this(in, MAX_LINE_BYTES);
    }

    /** @param maxLineBytes longer lines are skipped */
    public LineReader(InputStream in, int maxLineBytes) {
        this.in = in;
        this.maxLineBytes = maxLineBytes;
    }

    /** The next line without its end; null at the end of the input; {@link #TOO_LONG}. */
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

    /** Whether something of the next line is there already. */
    public boolean hasMore() throws IOException {
        return position < limit || in.available() > 0;
    }
}
