package dev.annals.guid;

import java.time.InstantSource;

/** Lends the benchmarks a generator that looks at the clock for every key, however many are drawn. */
public final class ClockedGuids {

    private ClockedGuids() {}

    /** A new one. */
    public static SequentialGuid create() {
        return new SequentialGuid(InstantSource.system());
    }
}
