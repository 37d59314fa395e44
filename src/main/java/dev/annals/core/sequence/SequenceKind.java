package dev.annals.core.sequence;

/**
 * The kinds of sequences. All are unique: no value is issued twice, whatever crashes. {@code docs/sequences.md} has their
 * costs.
 *
 * <pre>
 * kind              ordered: a later value is greater   gapless: no value below the greatest is missing
 * SYNCHRONOUS       yes                                 yes
 * ASYNCHRONOUS      by request                          no: a caller that rolls back leaves a gap
 * BATCH             no: batches are used side by side   no: a process that ends loses the rest of its batch
 * ASYNC_BATCH       no                                  no
 * COMMIT_ORDERED    by commit                           yes
 * MAX_PLUS_ONE      yes                                 yes, but a deleted last row frees its value
 * PSEUDO_RANDOM     no                                  the whole period
 * COMPOSITE         within a process                    no
 * RECYCLED_SERIES   within a series                     all but values on their way to callers of a dead process
 * BIT_REVERSED      no                                  no
 * NATIVE            by request; cached, by connection   no
 * </pre>
 */
public enum SequenceKind {
    /**
     * Increments the sequence's row in the caller's transaction, and keeps it locked until that ends. Source: "synchronous" in
     * <a href="https://cloud.google.com/spanner/docs/sequence-tables">Google's Spanner documentation</a>.
     */
    SYNCHRONOUS(true),
    /** Increments the row in a short transaction of its own. Source: as above. */
    ASYNCHRONOUS(true),
    /** Reserves a batch with one increment and hands it out from memory. Source: as above; "hi/lo" in object-relational mappers. */
    BATCH(true),
    /** Fetches the next batch in the background once fewer values are left than the low-water mark. Source: as above. */
    ASYNC_BATCH(true),
    /**
     * Numbers the rows of the caller's table at commit, by a deferred trigger: {@code annals.attach_commit_order}. A reader
     * that has seen n has seen everything below n.
     */
    COMMIT_ORDERED(false),
    /**
     * {@link MaxPlusOneSequence}. Reads the column in the caller's transaction under a lock, which keeps two from reading the
     * same maximum.
     */
    MAX_PLUS_ONE(false),
    /** {@link ParkMiller}. {@code start} is the seed. Not secret: from any value all others can be computed. */
    PSEUDO_RANDOM(true),
    /**
     * {@link CompositeSequence}. Lasts for 1,048,575 starts of processes, and until 2094. Source: Twitter's Snowflake, with its
     * parts swapped, so that writers do not all insert at the end of the index.
     */
    COMPOSITE(true),
    /**
     * Each process owns a series of 1,000,000 values, by a session-level advisory lock. Another process takes it over when the
     * owner dies. Needs a connection without a transaction-pooling proxy. Source: the number ranges of ERP systems.
     */
    RECYCLED_SERIES(true),
    /**
     * The values of a PostgreSQL sequence with their lower 63 bits reversed, so that inserts do not create a hot spot. Source:
     * bit-reversed positive sequences in Spanner.
     */
    BIT_REVERSED(true),
    /** A PostgreSQL sequence. {@code batch_size} is its {@code CACHE}: the values that a connection takes at a time. */
    NATIVE(true);

    private final boolean drawn;

    SequenceKind(boolean drawn) {
        this.drawn = drawn;
    }

    /** The other kinds number the rows of a caller's table. */
    public boolean isDrawn() {
        return drawn;
    }

    public boolean hasBatchSize() {
        return this == BATCH || this == ASYNC_BATCH || this == NATIVE;
    }

    /** The other kinds have a fixed range. */
    public boolean hasMaxValue() {
        return drawn && this != PSEUDO_RANDOM && this != COMPOSITE && this != BIT_REVERSED;
    }
}
