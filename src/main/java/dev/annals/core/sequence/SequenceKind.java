package dev.annals.core.sequence;

/**
 * The kinds of sequences. They differ in promises and costs; {@code docs/sequences.md} has the
 * measurements.
 *
 * <p><em>Unique</em>: no value is issued twice, whatever crashes. <em>Ordered</em>: a value that is drawn later is
 * greater. <em>Gapless</em>: no value below the greatest one is missing.
 */
public enum SequenceKind {
    /**
     * Reads and increments the sequence's row inside the caller's transaction. Several values at once touch the row only
     * once.
     *
     * <p>Unique, ordered, gapless. Cost: the row stays locked until the transaction ends, so transactions run one after the
     * other, 1 / (their duration) per second.
     *
     * <p>Source: the table of counters that databases had before they had sequences; "synchronous" in <a
     * href="https://cloud.google.com/spanner/docs/sequence-tables">Google's Spanner documentation</a>.
     */
    SYNCHRONOUS(true),
    /**
     * Increments the row in a short transaction of its own, before the caller's.
     *
     * <p>Unique; ordered by request; not gapless: a caller that rolls back leaves a gap. Cost: one commit per call. Calls
     * run one after the other, but none waits for a caller's transaction.
     *
     * <p>Source: "asynchronous" in the same document.
     */
    ASYNCHRONOUS(true),
    /**
     * Reserves a batch of values with one increment and hands them out from memory. Callers that find the batch empty share
     * one refill.
     *
     * <p>Unique; not ordered, because processes hand out their batches at the same time; not gapless, because the rest of a
     * batch is lost when its process ends. Cost: one commit per batch; one caller per batch waits for it.
     *
     * <p>Source: "batch" in the same document; "hi/lo" in object-relational mappers.
     */
    BATCH(true),
    /**
     * Like {@link #BATCH}, but the next batch is fetched in the background once fewer values are left than the low-water
     * mark. A refill that fails is retried, and callers learn of it only when no values are left.
     *
     * <p>Unique; not ordered; not gapless. Cost: one commit per batch, for which no caller waits.
     *
     * <p>Source: "asynchronous batch" in the same document.
     */
    ASYNC_BATCH(true),
    /**
     * Assigned to the rows of the caller's table at commit, by a deferred trigger: {@code select
     * annals.attach_commit_order('invoice', 'number')}. An optional third argument names a column; the rows of each of its
     * values are then numbered separately. There is nothing to draw.
     *
     * <p>Unique, gapless, and ordered by commit: a reader that has seen n has seen everything below n. Cost: two more updates per
     * row. Commits to one group run one after the other, but none waits for an open transaction.
     *
     * <p>Source: the deferred constraint trigger of the service's own feeds ({@code R__10_place_at_commit.sql}).
     */
    COMMIT_ORDERED(false),
    /**
     * One more than the greatest value in a column of the caller's table, read in the caller's transaction under a lock:
     * {@link MaxPlusOneSequence}. The lock keeps two transactions from reading the same maximum.
     *
     * <p>Unique, ordered, gapless; a deleted last row frees its value. Cost: the lock is held until the transaction
     * ends, as for {@link #SYNCHRONOUS}; the column needs an index.
     *
     * <p>Source: {@code select max(n) + 1}, the first attempt in every textbook.
     */
    MAX_PLUS_ONE(false),
    /**
     * The full period of a pseudo-random generator: every number from 1 to 2,147,483,646 once, in an order that looks
     * random. {@code start} is its seed. x' = 16807 x mod 2147483647. It is not secret: from any value all others can be
     * computed.
     *
     * <p>Unique within the period, after which the sequence is exhausted; not ordered. Cost: as for {@link #ASYNCHRONOUS}.
     *
     * <p>Source: S. K. Park and K. W. Miller, "Random number generators: good ones are hard to find", CACM 31 (1988);
     * multiplied without overflow by the method of L. Schrage, "A more portable Fortran random number generator", TOMS 5
     * (1979).
     */
    PSEUDO_RANDOM(true),
    /**
     * A 64-bit key of two parts: 20 bits that spread processes over the range of keys, then 43 bits of time. Each process
     * takes a number once, which no other process ever gets, and needs no database after that.
     *
     * <p>Unique; ordered within a process; not gapless. Cost: none, except for the first value. One sequence lasts for
     * 1,048,575 starts of processes, and until the year 2094.
     *
     * <p>Source: Twitter's Snowflake, with its parts swapped, so that writers do not all insert at the end of the index.
     */
    COMPOSITE(true),
    /**
     * Each process owns a series of 1,000,000 values and takes from it in order. A series whose process has died is taken
     * over at its next value, the lowest series first. At the end of a series the process continues with another one.
     * Ownership is a session-level advisory lock, which the server frees when the process dies. This needs a lasting
     * connection, without a transaction-pooling proxy in between.
     *
     * <p>Unique; ordered within a series; the values that a dead process left are recovered, except those on their way to
     * callers when it died. Cost: one commit for all callers that wait at the same time; processes do not wait for each
     * other.
     *
     * <p>Source: the number ranges that ERP systems assign to servers.
     */
    RECYCLED_SERIES(true),
    /**
     * The values of a PostgreSQL sequence with their lower 63 bits reversed: successive values lie far apart, so inserts do
     * not create a hot spot.
     *
     * <p>Unique, positive; not ordered; not gapless. Cost: as for {@link #NATIVE}.
     *
     * <p>Source: bit-reversed positive sequences in Spanner.
     */
    BIT_REVERSED(true),
    /**
     * A PostgreSQL sequence. {@code batch_size} is its {@code CACHE}: how many values a connection takes at a time.
     *
     * <p>Unique; ordered by request with a cache of 1, otherwise within a connection; not gapless. Cost: one round trip.
     *
     * <p>Source: {@code CREATE SEQUENCE} in the SQL standard and in PostgreSQL.
     */
    NATIVE(true);

    private final boolean drawn;

    SequenceKind(boolean drawn) {
        this.drawn = drawn;
    }

    /** Whether its values are drawn from a defined sequence; the other kinds number the rows of a caller's table. */
    public boolean isDrawn() {
        return drawn;
    }

    /** Whether the size of a batch can be chosen. */
    public boolean hasBatchSize() {
        return this == BATCH || this == ASYNC_BATCH || this == NATIVE;
    }

    /** Whether a greatest value can be chosen. The other kinds have a fixed range. */
    public boolean hasMaxValue() {
        return drawn && this != PSEUDO_RANDOM && this != COMPOSITE && this != BIT_REVERSED;
    }
}
