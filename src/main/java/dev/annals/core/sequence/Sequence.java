package dev.annals.core.sequence;

import java.util.UUID;

/**
 * A defined sequence.
 *
 * @param id never used again
 * @param name unique in the project, also among deleted sequences
 */
public record Sequence(UUID id, UUID projectId, String name, Definition definition) {

    /** One below the greatest {@code long}, so that the value after it is still a {@code long}. */
    public static final long GREATEST = Long.MAX_VALUE - 1;

    /** The processes that a {@link SequenceKind#COMPOSITE} sequence serves. */
    static final long MAX_PROCESSES = (1 << CompositeSequence.SPREAD_BITS) - 1;

    /**
     * The rules of a sequence.
     *
     * @param start the first value, or the seed of {@link SequenceKind#PSEUDO_RANDOM}
     * @param batchSize 1 if the kind has no batches
     * @param lowWaterMark the next batch is fetched when fewer values are left
     */
    public record Definition(SequenceKind kind, long start, long maxValue, int batchSize, int lowWaterMark) {

        public static final int MAX_BATCH_SIZE = 1_000_000;

        /** Throws {@link IllegalArgumentException} if the kind is not drawn, or a value is outside of its bounds. */
        public Definition {
            if (!kind.isDrawn()) {
                throw new IllegalArgumentException(kind + " numbers the rows of a table; there is nothing to define");
            }
            if (start < 1 || start > maxValue || maxValue > GREATEST) {
                throw new IllegalArgumentException("1 <= start <= max_value <= " + GREATEST
                        + " does not hold for start " + start + " and max_value " + maxValue);
            }
            if (batchSize < 1 || batchSize > MAX_BATCH_SIZE || lowWaterMark < 0 || lowWaterMark > batchSize) {
                throw new IllegalArgumentException("0 <= low_water_mark <= batch_size <= " + MAX_BATCH_SIZE
                        + " does not hold for low_water_mark " + lowWaterMark + " and batch_size " + batchSize);
            }
        }

        public static Definition of(SequenceKind kind) {
            int batchSize = kind == SequenceKind.NATIVE || !kind.hasBatchSize() ? 1 : 200;
            return new Definition(
                    kind, 1, greatest(kind), batchSize, kind == SequenceKind.ASYNC_BATCH ? batchSize / 4 : 0);
        }

        public Definition startingAt(long first) {
            return new Definition(kind, first, maxValue, batchSize, lowWaterMark);
        }

        public Definition inBatchesOf(int size, int mark) {
            return new Definition(kind, start, maxValue, size, mark);
        }

        /** A value, or a count of positions or processes. */
        long firstNextValue() {
            return kind == SequenceKind.PSEUDO_RANDOM || kind == SequenceKind.COMPOSITE ? 1 : start;
        }

        static long greatest(SequenceKind kind) {
            return switch (kind) {
                case PSEUDO_RANDOM -> ParkMiller.PERIOD;
                case COMPOSITE -> MAX_PROCESSES;
                default -> GREATEST;
            };
        }
    }
}
