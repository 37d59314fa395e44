package dev.annals.writer;

/** The counters of a client since it was opened, and the sizes of its queues, at one moment. */
public final class Metrics {

    private final long[] counts;
    private final int bufferedRecords;
    private final long bufferedBytes;
    private final long spoolBytes;
    private final String lastFailure;

    Metrics(long[] counts, int bufferedRecords, long bufferedBytes, long spoolBytes, String lastFailure) {
        this.counts = counts;
        this.bufferedRecords = bufferedRecords;
        this.bufferedBytes = bufferedBytes;
        this.spoolBytes = spoolBytes;
        this.lastFailure = lastFailure;
    }

    public long appended() {
        return counts[0];
    }

    /** Includes records that another process left in the spool. */
    public long stored() {
        return counts[1];
    }

    /** Records that will not be stored, and were handed to the handler. */
    public long refused() {
        return counts[2];
    }

    /** Appends that failed because the buffer was full for too long. */
    public long turnedAway() {
        return counts[3];
    }

    /** Requests that the service stored. */
    public long batches() {
        return counts[4];
    }

    public long retries() {
        return counts[5];
    }

    public int bufferedRecords() {
        return bufferedRecords;
    }

    /** About the memory that the buffered records take. */
    public long bufferedBytes() {
        return bufferedBytes;
    }

    /** The size of the spool's files; 0 without a spool. */
    public long spoolBytes() {
        return spoolBytes;
    }

    /** Empty if the last request did not fail. */
    public String lastFailure() {
        return lastFailure;
    }

    @Override
    public String toString() {
        return "appended " + appended() + ", stored " + stored() + ", refused " + refused() + ", turned away "
                + turnedAway() + ", batches " + batches() + ", retries " + retries() + ", in memory " + bufferedRecords
                + " records of " + bufferedBytes + " bytes, in the spool " + spoolBytes + " bytes, last failure: "
                + (lastFailure.isEmpty() ? "none" : lastFailure);
    }
}
