package dev.annals.core.sequence;

import dev.annals.kernel.database.DatabaseFailure;
import io.smallrye.mutiny.Uni;

/** {@link SequenceKind#ASYNCHRONOUS}: each call is a short transaction of its own. */
final class AsynchronousSequence implements SequenceGenerator {

    private final SequenceRow row;

    AsynchronousSequence(SequenceRow row) {
        this.row = row;
    }

    @Override
    public Uni<SequenceBlock> next(int count) {
        SequenceGenerator.requireCount(count);
        // If it is unknown whether an UPDATE was committed, its values are given up.
        Uni<ValueSource.Range> range = Uni.createFrom()
                .deferred(() -> row.reserveAll(count))
                .onFailure(DatabaseFailure::isTransient)
                .retry()
                .withBackOff(BatchSequence.RETRY_DELAY, BatchSequence.MAX_RETRY_DELAY)
                .atMost(BatchSequence.RETRIES);
        return range.map(reserved -> SequenceBlock.adjacent(reserved.first(), count));
    }
}
