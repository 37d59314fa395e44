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

    /** Takes more memory if there is enough; not after {@link #close}. */
    public synchronized boolean tryGrow(long more) {
        if (closed || !budget.tryTake(holder, more)) {
            return false;
        }
        bytes += more;
        return true;
    }

    /** Takes the memory that is missing to this many bytes, if there is enough; not after {@link #close}. */
    public synchronized boolean tryGrowTo(long need) {
        return !closed && (need <= bytes || tryGrow(need - bytes));
    }

    /** Returns the bytes beyond {@code need}. */
    public void shrinkTo(long need) {
        long less;
        synchronized (this) {
            less = closed ? 0 : Math.max(0, bytes - need);
            bytes -= less;
        }
        budget.give(holder, less);
    }

    /** The bytes that it holds. */
    public synchronized long bytes() {
        return bytes;
    }

    /** Returns all of it. A second call has no effect. */
    @Override
    public void close() {
        shrinkTo(0);
        synchronized (this) {
            closed = true;
        }
    }
}
