package dev.annals.sequence;

import io.smallrye.mutiny.Uni;

/** Where a generator gets adjacent values from, in a transaction that is over when they arrive. */
interface ValueSource {

    /**
     * Adjacent values that nobody else gets.
     *
     * @param count at least 1
     */
    record Range(long first, long count) {}

    /** Reserves at least one value and at most {@code wanted}; fails where none is left or the sequence is deleted. */
    Uni<Range> reserve(long wanted);
}
