package dev.annals.kernel.http;

import io.vertx.core.buffer.Buffer;
import java.util.Arrays;
import java.util.function.LongConsumer;

/**
 * Cuts a body into lines while it streams in. Holds only the unfinished line, and nothing of a line that is too long. Blank
 * lines are counted and skipped. A byte order mark before the first line is skipped.
 */
public final class LineSplitter {

    /** Reads the bytes from {@code from} to before {@code to}. */
    public interface Line {
        void read(byte[] bytes, int from, int to);
    }

    /** U+FEFF in UTF-8, which some programs on Windows write first. */
    private static final byte[] BYTE_ORDER_MARK = {(byte) 0xEF, (byte) 0xBB, (byte) 0xBF};

    private final int maxBytes;
    private final Line line;
    private final LongConsumer tooLong;
    private byte[] rest = {};
    private boolean skipping;
    private long count;

    /** @param tooLong gets the number of a line of more than {@code maxBytes}, at its end, in place of {@code line} */
    public LineSplitter(int maxBytes, Line line, LongConsumer tooLong) {
        this.maxBytes = maxBytes;
        this.line = line;
        this.tooLong = tooLong;
    }

    /** Ended lines; while a line is read, its number. */
    public long count() {
        return count;
    }

    public boolean isSkipping() {
        return skipping;
    }

    public void add(Buffer part) {
        byte[] bytes = Arrays.copyOf(rest, rest.length + part.length());
        part.getBytes(bytes, rest.length);
        int from = 0;
        for (int i = rest.length; i < bytes.length; i++) {
            if (bytes[i] == '\n') {
                endLine(bytes, from, i);
                from = i + 1;
            }
        }
        skipping |= bytes.length - from > maxBytes;
        rest = skipping ? new byte[0] : from == 0 ? bytes : Arrays.copyOfRange(bytes, from, bytes.length);
    }

    /** Ends a last line without a line feed. */
    public void end() {
        if (rest.length > 0 || skipping) {
            endLine(rest, 0, rest.length);
        }
    }

    private void endLine(byte[] bytes, int from, int to) {
        count++;
        if (skipping || to - from > maxBytes) {
            skipping = false;
            tooLong.accept(count);
            return;
        }
        int begin = count == 1 && beginsWithMark(bytes, from, to) ? from + BYTE_ORDER_MARK.length : from;
        for (int i = begin; i < to; i++) {
            if (bytes[i] != ' ' && bytes[i] != '\t' && bytes[i] != '\r') {
                line.read(bytes, begin, to);
                return;
            }
        }
    }

    private static boolean beginsWithMark(byte[] bytes, int from, int to) {
        int end = from + BYTE_ORDER_MARK.length;
        return end <= to && Arrays.equals(bytes, from, end, BYTE_ORDER_MARK, 0, BYTE_ORDER_MARK.length);
    }
}
