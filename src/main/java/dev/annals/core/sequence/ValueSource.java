package dev.annals.core.sequence;

import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Row;

/** Gives a generator adjacent values. The transaction has ended when they arrive. */
interface ValueSource {

    record Range(long first, long count) {

        static Range of(Row reserved) {
            return new Range(reserved.getLong("first_value"), reserved.getLong("value_count"));
        }
    }

    /** Reserves at least one value; fails if none is left or the sequence is deleted. */
    Uni<Range> reserve(long wanted);
}
