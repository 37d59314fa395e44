package dev.annals.core.sequence;

import io.smallrye.mutiny.Uni;

/**
 * Issues the values of one sequence. Any thread may call it; nothing blocks.
 *
 * <p>Calls fail with a {@link dev.annals.kernel.http.ProblemException}: {@code sequence-exhausted} if fewer values are left than
 * wanted, {@code sequence-deleted}, {@code queue-full} if too many callers are waiting, or {@code unavailable} if the
 * database could not be reached for too long.
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

    /** Checks a count. @throws IllegalArgumentException if it is below 1 or above {@link #MAX_COUNT} */
    static int requireCount(int count) {
        if (count < 1 || count > MAX_COUNT) {
            throw new IllegalArgumentException("One call draws 1 to " + MAX_COUNT + " values, not " + count);
        }
        return count;
    }
}
