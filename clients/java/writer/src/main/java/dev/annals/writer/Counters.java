package dev.annals.writer;

import java.util.concurrent.atomic.AtomicLong;

/** The counters that the threads of a client share. */
final class Counters {

    final AtomicLong appended = new AtomicLong();
    final AtomicLong turnedAway = new AtomicLong();
    private final AtomicLong stored = new AtomicLong();
    private final AtomicLong refused = new AtomicLong();
    private final AtomicLong batches = new AtomicLong();
    private final AtomicLong retries = new AtomicLong();
    private volatile String lastFailure = "";

    void stored(int records) {
        stored.addAndGet(records);
        batches.incrementAndGet();
    }

    void refused() {
        refused.incrementAndGet();
    }

    void retried() {
        retries.incrementAndGet();
    }

    void answered() {
        lastFailure = "";
    }

    /** Logs only the first of a series of failures. */
    void failed(String reason) {
        if (lastFailure.isEmpty()) {
            Problems.log("Records wait, as they cannot be delivered now. " + reason);
        }
        lastFailure = reason;
    }

    Metrics metrics(int bufferedRecords, long bufferedBytes, long spoolBytes) {
        return new Metrics(
                new long[] {appended.get(), stored.get(), refused.get(), turnedAway.get(), batches.get(), retries.get()
                },
                bufferedRecords,
                bufferedBytes,
                spoolBytes,
                lastFailure);
    }
}
