package dev.annals.writer;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** A bounded queue of records in memory, oldest first. Any thread adds, one takes. */
final class Buffer implements Source {

    private final int maxRecords;
    private final long maxBytes;
    private final Batching batching;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<Entry> entries = new ArrayDeque<>();
    private long bytes;
    private long added;
    private long removed;
    private int given;
    private boolean closed;
    private boolean stopped;

    Buffer(int maxRecords, long maxBytes, Batching batching) {
        this.maxRecords = maxRecords;
        this.maxBytes = maxBytes;
        this.batching = batching;
    }

    /** Waits until the buffer has room. */
    void add(Entry entry, Duration wait) {
        lock.lock();
        try {
            long left = wait.toNanos();
            while (!closed && (entries.size() >= maxRecords || bytes + entry.size() > maxBytes)) {
                if (left <= 0) {
                    throw new BufferFullException("The buffer is full: " + entries.size() + " records, " + bytes
                            + " bytes wait to be written or sent");
                }
                left = changed.awaitNanos(left);
            }
            if (closed) {
                throw new IllegalStateException("The audit log is closed: the record was not taken");
            }
            entries.add(entry);
            bytes += entry.size();
            added++;
            changed.signalAll();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new BufferFullException("Interrupted while waiting for room in the buffer: the record was not taken");
        } finally {
            lock.unlock();
        }
    }

    @Override
    public List<Entry> next() {
        lock.lock();
        try {
            while (entries.isEmpty() && !closed && !stopped) {
                changed.awaitUninterruptibly();
            }
            if (stopped || entries.isEmpty()) {
                return null;
            }
            List<Entry> batch = new ArrayList<>();
            long size = 0;
            for (Entry entry : entries) {
                size += entry.json.length + 1;
                if (!batch.isEmpty() && (batch.size() == batching.records || size > batching.bytes)) {
                    break;
                }
                batch.add(entry);
            }
            given = batch.size();
            return batch;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void settled() {
        lock.lock();
        try {
            for (; given > 0; given--) {
                bytes -= entries.remove().size();
                removed++;
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Waits until all records added before this call are settled. Returns false if the limit ends first. */
    boolean awaitSettled(Duration limit) throws InterruptedException {
        lock.lock();
        try {
            long target = added;
            long left = limit.toNanos();
            while (removed < target && left > 0 && !stopped) {
                left = changed.awaitNanos(left);
            }
            return removed >= target;
        } finally {
            lock.unlock();
        }
    }

    /** Records in the buffer can still be taken. */
    void close() {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Ends {@link #next}. Records taken before can still be settled. */
    void stop() {
        lock.lock();
        try {
            closed = true;
            stopped = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    List<Entry> left() {
        lock.lock();
        try {
            return new ArrayList<>(entries);
        } finally {
            lock.unlock();
        }
    }

    int records() {
        lock.lock();
        try {
            return entries.size();
        } finally {
            lock.unlock();
        }
    }

    long bytes() {
        lock.lock();
        try {
            return bytes;
        } finally {
            lock.unlock();
        }
    }

    /** The limits of one batch. */
    static final class Batching {
        final int records;
        final int bytes;

        Batching(int records, int bytes) {
            this.records = records;
            this.bytes = bytes;
        }
    }
}
