package dev.annals.tools.benchmark;

import dev.annals.core.sequence.SequenceKind;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The work of a transaction of {@code sequence-benchmark}, besides staying open. */
enum BenchmarkMode {
    /** Nothing: the limit for the kinds that are drawn. */
    NONE(null),
    SYNCHRONOUS(SequenceKind.SYNCHRONOUS),
    ASYNCHRONOUS(SequenceKind.ASYNCHRONOUS),
    BATCH(SequenceKind.BATCH),
    ASYNC_BATCH(SequenceKind.ASYNC_BATCH),
    PSEUDO_RANDOM(SequenceKind.PSEUDO_RANDOM),
    COMPOSITE(SequenceKind.COMPOSITE),
    RECYCLED_SERIES(SequenceKind.RECYCLED_SERIES),
    BIT_REVERSED(SequenceKind.BIT_REVERSED),
    NATIVE(SequenceKind.NATIVE),
    /** Inserts a row into a table with an identity column: the limit for the kinds that number rows. */
    IDENTITY(null),
    /** Inserts a row into the same table, numbered by {@code annals.attach_commit_order}. */
    COMMIT_ORDERED(SequenceKind.COMMIT_ORDERED),
    /** Inserts a row with the number after the greatest one. */
    MAX_PLUS_ONE(SequenceKind.MAX_PLUS_ONE);

    private final Optional<SequenceKind> kind;

    BenchmarkMode(@Nullable SequenceKind kind) {
        this.kind = Optional.ofNullable(kind);
    }

    /** True if transactions wait for each other from the draw of a value to the commit. */
    boolean oneAtATime() {
        return this == SYNCHRONOUS || this == MAX_PLUS_ONE;
    }

    /** The kind whose values are drawn from a sequence; empty for those that number rows, and for the limits. */
    Optional<SequenceKind> drawnKind() {
        return kind.filter(SequenceKind::isDrawn);
    }
}
