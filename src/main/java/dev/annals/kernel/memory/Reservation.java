package dev.annals.kernel.memory;

/** Memory taken from the {@link MemoryBudget} for one request. Safe for use by several threads. */
public final class Reservation implements AutoCloseable {

    private final MemoryBudget budget;
    private final Object holder;
    private long bytes;
    private boolean closed;

    Reservation(MemoryBudget budget, Object holder, long bytes) {
        this.budget = budget;
        this.holder = holder;
        this.bytes = bytes;
    }

    /** False if there is not enough, or after {@link #close}. */
    public synchronized boolean tryGrow(long more) {
        if (closed || !budget.tryTake(holder, more)) {
            return false;
        }
        bytes += more;
        return true;
    }

    /** Takes what is missing to this many bytes. False as {@link #tryGrow}. */
    public synchronized boolean tryGrowTo(long need) {
        return !closed && (need <= bytes || tryGrow(need - bytes));
    }

    public void shrinkTo(long need) {
        long less;
        synchronized (this) {
            less = closed ? 0 : Math.max(0, bytes - need);
            bytes -= less;
        }
        budget.give(holder, less);
    }

    public synchronized long bytes() {
        return bytes;
    }

    /** A second call has no effect. */
    @Override
    public void close() {
        shrinkTo(0);
        synchronized (this) {
            closed = true;
        }
    }
}
