package dev.annals.append;

/**
 * Requests whose records have to be stored in the order of the requests. The queue takes them in that order, and once one
 * of them has failed it writes none of those behind it: they fail with {@link Broken}, and may be sent in a new chain.
 *
 * <p>All requests of a chain that are under way together belong in one lane of the queue.
 */
final class Chain {

    private volatile boolean broken;

    /** Says that a request was not written because one before it in its chain has failed. */
    static final class Broken extends RuntimeException {
        private static final long serialVersionUID = 1;

        Broken() {
            super("a request before this one failed", null, false, false);
        }
    }

    void breakOff() {
        broken = true;
    }

    boolean isBroken() {
        return broken;
    }
}
