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
    private volatile boolean sendingFails;
    private volatile boolean writingFails;

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
        if (sendingFails) {
            sendingFails = false;
            recovered("Records are delivered again");
        }
    }

    void written() {
        if (writingFails) {
            writingFails = false;
            recovered("The spool is written again");
        }
    }

    private void recovered(String what) {
        Problems.log(what);
        if (!sendingFails && !writingFails) {
            lastFailure = "";
        }
    }

    /** Logs only the first of a series of failures. */
    void sendingFailed(String reason) {
        lastFailure = reason;
        if (!sendingFails) {
            sendingFails = true;
            Problems.log("Records wait, as they cannot be delivered now. " + reason);
        }
    }

    void writingFailed(String reason) {
        lastFailure = reason;
        if (!writingFails) {
            writingFails = true;
            Problems.log("Records wait in memory. " + reason);
        }
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
