package dev.annals.core.sequence;

import dev.annals.kernel.database.Sql;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.SqlConnection;
import java.util.function.Function;

/** {@link SequenceKind#SYNCHRONOUS}: draws in the caller's transaction, and so leaves no gap if that rolls back. */
public final class SynchronousSequence {

    private static final Sql LOCK_SEQUENCE = Sql.named("core/sequence/lock_sequence");
    private static final Sql STORE_NEXT_VALUE = Sql.named("core/sequence/store_next_value");

    private final SequenceRow row;

    SynchronousSequence(SequenceRow row) {
        this.row = row;
    }

    /** All other callers wait from the generator's first call to the end of the transaction. */
    public SequenceGenerator in(SqlConnection transaction) {
        return count -> {
            SequenceGenerator.requireCount(count);
            return row.reserveAll(transaction, count).map(range -> SequenceBlock.adjacent(range.first(), count));
        };
    }

    /**
     * Updates the sequence's row only once for all values of the work: locks the row and counts in memory.
     *
     * @param transaction must roll back if this fails
     * @param work may use the generator until it is done
     */
    public <T> Uni<T> withValues(SqlConnection transaction, Function<SequenceGenerator, Uni<T>> work) {
        return LOCK_SEQUENCE
                .bind("id", row.sequence().id())
                .execute(transaction)
                .chain(rows -> {
                    for (Row locked : rows) {
                        Counter counter = new Counter(locked.getLong("next_value"), locked.getLong("max_value"));
                        // Also if the work fails: a caller that commits anyway has used its values.
                        return work.apply(counter).eventually(() -> store(transaction, counter));
                    }
                    return Uni.createFrom().failure(row.deleted());
                });
    }

    private Uni<Void> store(SqlConnection transaction, Counter counter) {
        return STORE_NEXT_VALUE
                .bind("id", row.sequence().id())
                .bind("next_value", counter.close())
                .execute(transaction)
                .replaceWithVoid();
    }

    private final class Counter implements SequenceGenerator {

        private final long max;
        private long next;
        private boolean closed;

        Counter(long next, long max) {
            this.next = next;
            this.max = max;
        }

        @Override
        public Uni<SequenceBlock> next(int count) {
            SequenceGenerator.requireCount(count);
            return Uni.createFrom().item(() -> take(count));
        }

        private synchronized SequenceBlock take(int count) {
            if (closed) {
                throw new IllegalStateException("the work that this generator was for is done");
            }
            if (max - next + 1 < count) {
                throw row.exhausted();
            }
            next += count;
            return SequenceBlock.adjacent(next - count, count);
        }

        synchronized long close() {
            closed = true;
            return next;
        }
    }
}
