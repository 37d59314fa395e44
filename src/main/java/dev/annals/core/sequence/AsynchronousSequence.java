package dev.annals.core.sequence;

import dev.annals.kernel.database.DatabaseFailure;
import io.smallrye.mutiny.Uni;

/** {@link SequenceKind#ASYNCHRONOUS}: each call is a short transaction of its own. */
final class AsynchronousSequence implements SequenceGenerator {

    private final SequenceRow row;
    private final SequenceConfig config;

    AsynchronousSequence(SequenceRow row, SequenceConfig config) {
        this.row = row;
        this.config = config;
    }

    @Override
    public Uni<SequenceBlock> next(int count) {
        SequenceGenerator.requireCount(count);
        // If it is unknown whether an UPDATE was committed, its values are given up.
        Uni<ValueSource.Range> range = Uni.createFrom()
                .deferred(() -> row.reserveAll(count))
                .onFailure(DatabaseFailure::isTransient)
                .retry()
                .withBackOff(config.retryDelay(), config.maxRetryDelay())
                .atMost(config.retries());
        return range.map(reserved -> SequenceBlock.adjacent(reserved.first(), count));
    }
}
