package dev.annals.core.sequence;

import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Row;

/** Where a generator gets adjacent values from. The transaction has ended when they arrive. */
interface ValueSource {

    /**
     * Adjacent values that nobody else gets.
     *
     * @param count at least 1
     */
    record Range(long first, long count) {

        /** What a statement reserved: its columns first_value and value_count. */
        static Range of(Row reserved) {
            return new Range(reserved.getLong("first_value"), reserved.getLong("value_count"));
        }
    }

    /** Reserves at least one value and at most {@code wanted}; fails if none is left or the sequence is deleted. */
    Uni<Range> reserve(long wanted);
}
