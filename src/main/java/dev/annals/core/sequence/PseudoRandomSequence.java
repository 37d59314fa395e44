package dev.annals.core.sequence;

import io.smallrye.mutiny.Uni;

/** {@link SequenceKind#PSEUDO_RANDOM}: the values at adjacent positions of a generator's period. */
final class PseudoRandomSequence implements SequenceGenerator {

    private final SequenceGenerator positions;
    private final int seed;

    PseudoRandomSequence(SequenceGenerator positions, int seed) {
        this.positions = positions;
        this.seed = seed;
    }

    @Override
    public Uni<SequenceBlock> next(int count) {
        return positions.next(count).map(this::valuesAt);
    }

    private SequenceBlock valuesAt(SequenceBlock block) {
        long[] values = new long[block.size()];
        int value = ParkMiller.at(seed, block.get(0));
        for (int i = 0; i < values.length; i++) {
            values[i] = value;
            value = ParkMiller.next(value);
        }
        return SequenceBlock.of(values);
    }
}
