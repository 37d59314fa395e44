package dev.annals.sequence;

import io.smallrye.mutiny.Uni;

/**
 * Issues the values of one sequence. Any thread may call it; nothing blocks.
 *
 * <p>Calls fail with a {@link dev.annals.http.ProblemException}: {@code sequence-exhausted} where fewer values are
 * left than wanted, {@code sequence-deleted}, {@code queue-full} where too many callers wait, {@code unavailable} where
 * the database could not be reached for too long.
 */
public interface SequenceGenerator {

    /** The most values that one call may ask for. */
    int MAX_COUNT = 1_000;

    /** Draws {@code count} values, from 1 to {@link #MAX_COUNT}: all of them or none. Each subscription draws anew. */
    Uni<SequenceBlock> next(int count);

    /** Draws one value. Each subscription draws anew. */
    default Uni<Long> next() {
        return next(1).map(block -> block.get(0));
    }

    /** Checks a count. @throws IllegalArgumentException where it is below 1 or above {@link #MAX_COUNT} */
    static int requireCount(int count) {
        if (count < 1 || count > MAX_COUNT) {
            throw new IllegalArgumentException("One call draws 1 to " + MAX_COUNT + " values, not " + count);
        }
        return count;
    }
}
