package dev.annals.core.append;

/**
 * Requests whose records have to be stored in the order of the requests. The queue takes them in that order. Once one of
 * them has failed, it writes none of the later ones: they end with {@link AppendOutcome.ChainBroken}, and may be sent in a
 * new chain.
 *
 * <p>All requests of a chain that are in flight at the same time belong in the same lane of the queue.
 */
final class Chain {

    private volatile boolean broken;

    void breakOff() {
        broken = true;
    }

    boolean isBroken() {
        return broken;
    }
}
