package dev.annals.core.sequence;

import java.util.Arrays;
import java.util.function.LongUnaryOperator;
import java.util.stream.LongStream;

/** The values that one caller has drawn, in that order. They need not be adjacent. Immutable. */
public final class SequenceBlock {

    private final long[] values;

    private SequenceBlock(long[] values) {
        this.values = values;
    }

    static SequenceBlock of(long[] values) {
        return new SequenceBlock(values);
    }

    static SequenceBlock adjacent(long first, int count) {
        return new SequenceBlock(LongStream.range(first, first + count).toArray());
    }

    SequenceBlock map(LongUnaryOperator change) {
        return new SequenceBlock(Arrays.stream(values).map(change).toArray());
    }

    public int size() {
        return values.length;
    }

    public long get(int index) {
        return values[index];
    }

    public LongStream stream() {
        return Arrays.stream(values);
    }

    @Override
    public String toString() {
        return Arrays.toString(values);
    }
}
