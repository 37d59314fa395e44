package dev.annals.sequence;

/**
 * The ways to number things. They differ in what they promise and in what that costs; {@code docs/sequences.md} has the
 * measurements.
 *
 * <p><em>Unique</em>: no value is issued twice, whatever crashes. <em>Ordered</em>: a value that is drawn later is
 * greater. <em>Gapless</em>: no value below the greatest one is missing.
 */
public enum SequenceKind {
    /**
     * Reads and increments the sequence's row inside the caller's transaction, where several values touch the row once.
     *
     * <p>Unique, ordered, gapless. Cost: the row stays locked until the transaction ends, so transactions pass one after
     * the other, 1 / (their duration) a second.
     *
     * <p>Source: the table of counters that databases had before they had sequences; "synchronous" in <a
     * href="https://cloud.google.com/spanner/docs/sequence-tables">Google's Spanner documentation</a>.
     */
    SYNCHRONOUS(true),
    /**
     * Increments the row in a short transaction of its own, before the caller's.
     *
     * <p>Unique; ordered by request; not gapless: a caller that rolls back leaves a gap. Cost: one commit a call, and
     * calls pass one after the other, but none waits for a caller's transaction.
     *
     * <p>Source: "asynchronous" in the same document.
     */
    ASYNCHRONOUS(true),
    /**
     * Reserves a batch of values by one increment and hands them out from memory. Callers that find the batch empty wait
     * together for one refill.
     *
     * <p>Unique; not ordered: processes hand out their batches side by side; not gapless: a process that ends leaves the
     * rest of its batch. Cost: one commit a batch; one caller in a batch waits for it.
     *
     * <p>Source: "batch" in the same document; "hi/lo" in object-relational mappers.
     */
    BATCH(true),
    /**
     * As {@link #BATCH}, but the next batch is fetched in the background once fewer values are left than the low-water
     * mark. A refill that fails is tried again, and callers learn of it only when no value is left.
     *
     * <p>Unique; not ordered; not gapless. Cost: one commit a batch, for which nobody waits.
     *
     * <p>Source: "asynchronous batch" in the same document.
     */
    ASYNC_BATCH(true),
    /**
     * Assigned at commit by a deferred trigger, to the rows of a table of the caller's:
     * {@code select annals.attach_commit_order('invoice', 'number')}, or with a third argument, a column by whose values
     * the rows are numbered in groups. There is nothing to draw.
     *
     * <p>Unique, gapless, and ordered by commit: whoever has seen n has seen everything below n. Cost: two more updates
     * a row; commits to one group pass one after the other, but nobody waits for an open transaction.
     *
     * <p>Source: the deferred constraint trigger of the service's own feeds ({@code V3__place_at_commit.sql}).
     */
    COMMIT_ORDERED(false),
    /**
     * One more than the greatest value in a column of the caller's table, read in the caller's transaction under a lock:
     * {@link MaxPlusOneSequence}. Without the lock two transactions read the same maximum; with it this is right.
     *
     * <p>Unique, ordered, gapless; a deleted last row frees its value. Cost: the lock is held until the transaction
     * ends, as for {@link #SYNCHRONOUS}; the column needs an index.
     *
     * <p>Source: {@code select max(n) + 1}, every textbook's first try.
     */
    MAX_PLUS_ONE(false),
    /**
     * The full period of a pseudo-random generator: every number from 1 to 2,147,483,646 once, in an order that looks
     * random. {@code start} is its seed. x' = 16807 x mod 2147483647. It is no secret: from one value follow all others.
     *
     * <p>Unique within the period, after which the sequence is exhausted; not ordered. Cost: as {@link #ASYNCHRONOUS}.
     *
     * <p>Source: S. K. Park and K. W. Miller, "Random number generators: good ones are hard to find", CACM 31 (1988);
     * multiplied without overflow as L. Schrage has it, "A more portable Fortran random number generator", TOMS 5 (1979).
     */
    PSEUDO_RANDOM(true),
    /**
     * A 64-bit key of two parts: 20 bits that spread processes over the range of keys, then 43 bits of time. Each process
     * takes a number of its own once, which no other ever gets, and from then on needs no database.
     *
     * <p>Unique; ordered within a process; not gapless. Cost: none but for the first value. One sequence has room for
     * 1,048,575 starts of processes, and until the year 2094.
     *
     * <p>Source: Twitter's Snowflake, with its parts exchanged so that writers do not all meet at the end of the index.
     */
    COMPOSITE(true),
    /**
     * Each process owns a series of 1,000,000 values and takes from it in order. A series whose process has died is taken
     * over at its next value, lowest first; at the end of a series the process goes on with another. Ownership is a
     * session-level advisory lock, which the server frees when the process dies. It needs a connection that stays: no
     * transaction-pooling proxy in between.
     *
     * <p>Unique; ordered within a series; what a dead process left is recovered, but for values on their way to callers
     * when it died. Cost: one commit for all callers that wait at the same time; processes do not wait for each other.
     *
     * <p>Source: number ranges as ERP systems assign them to servers.
     */
    RECYCLED_SERIES(true),
    /**
     * The values of one of PostgreSQL's sequences with their lower 63 bits reversed: successive values lie far apart,
     * and inserts meet no hot spot.
     *
     * <p>Unique, positive; not ordered; not gapless. Cost: as {@link #NATIVE}.
     *
     * <p>Source: bit-reversed positive sequences in Spanner.
     */
    BIT_REVERSED(true),
    /**
     * One of PostgreSQL's own sequences. {@code batch_size} is its {@code CACHE}: how many values a connection takes at a
     * time.
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

    /** Whether its values are drawn from a sequence that was defined; the others belong to a table of the caller's. */
    public boolean isDrawn() {
        return drawn;
    }

    /** Whether the size of a batch can be chosen. */
    public boolean hasBatchSize() {
        return this == BATCH || this == ASYNC_BATCH || this == NATIVE;
    }

    /** Whether a greatest value can be chosen. The others have a range of their own. */
    public boolean hasMaxValue() {
        return drawn && this != PSEUDO_RANDOM && this != COMPOSITE && this != BIT_REVERSED;
    }
}
