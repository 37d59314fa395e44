package dev.annals.core.sequence;

import io.smallrye.mutiny.Uni;

/**
 * Issues the values of one sequence. Any thread may call it; nothing blocks.
 *
 * <p>Calls fail with {@code sequence-exhausted}, {@code sequence-deleted}, {@code queue-full}, or {@code unavailable}.
 */
public interface SequenceGenerator {

    int MAX_COUNT = 1_000;

    /** Draws all values or none, anew for each subscription. */
    Uni<SequenceBlock> next(int count);

    default Uni<Long> next() {
        return next(1).map(block -> block.get(0));
    }

    /** Throws {@link IllegalArgumentException} if the count is below 1 or above {@link #MAX_COUNT}. */
    static int requireCount(int count) {
        if (count < 1 || count > MAX_COUNT) {
            throw new IllegalArgumentException("One call draws 1 to " + MAX_COUNT + " values, not " + count);
        }
        return count;
    }
}
