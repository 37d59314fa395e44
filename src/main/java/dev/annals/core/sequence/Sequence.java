package dev.annals.core.sequence;

import java.util.UUID;

/**
 * A defined sequence.
 *
 * @param id never used again
 * @param name unique in the project, also among deleted sequences
 */
public record Sequence(UUID id, UUID projectId, String name, Definition definition) {

    /**
     * The greatest possible value: one below the greatest {@code long}, so that the value after it is still a {@code long}.
     */
    public static final long GREATEST = Long.MAX_VALUE - 1;

    /** The number of processes that a {@link SequenceKind#COMPOSITE} sequence serves. */
    static final long MAX_PROCESSES = (1 << CompositeSequence.SPREAD_BITS) - 1;

    /**
     * The rules of a sequence.
     *
     * @param kind one that is drawn ({@link SequenceKind#isDrawn()})
     * @param start its first value, from 1; the seed of {@link SequenceKind#PSEUDO_RANDOM}
     * @param maxValue its last value, at most {@link #GREATEST}
     * @param batchSize the number of values reserved at once, 1 to 1,000,000; 1 if the kind has no batches
     * @param lowWaterMark the next batch is fetched when fewer values than this are left; 0 to {@code batchSize}
     */
    public record Definition(SequenceKind kind, long start, long maxValue, int batchSize, int lowWaterMark) {

        /** The largest batch. */
        public static final int MAX_BATCH_SIZE = 1_000_000;

        /**
         * Checks the definition.
         *
         * @throws IllegalArgumentException if it breaks one of the rules above
         */
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

        /** A definition with the kind's defaults: from 1 to the kind's greatest value, batches of 200. */
        public static Definition of(SequenceKind kind) {
            int batchSize = kind == SequenceKind.NATIVE || !kind.hasBatchSize() ? 1 : 200;
            return new Definition(
                    kind, 1, greatest(kind), batchSize, kind == SequenceKind.ASYNC_BATCH ? batchSize / 4 : 0);
        }

        /** This definition with another first value or seed. */
        public Definition startingAt(long first) {
            return new Definition(kind, first, maxValue, batchSize, lowWaterMark);
        }

        /** This definition with other batches. */
        public Definition inBatchesOf(int size, int mark) {
            return new Definition(kind, start, maxValue, size, mark);
        }

        /** The first {@code next_value}: a value, or a count of positions or processes. */
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
