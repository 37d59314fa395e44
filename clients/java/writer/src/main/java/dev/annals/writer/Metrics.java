package dev.annals.writer;

/** What a client has done since it was made, and what it holds, at one moment. */
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

    /** Records that were taken. */
    public long appended() {
        return counts[0];
    }

    /** Records that the service has stored; those of a spool that another process wrote are among them. */
    public long stored() {
        return counts[1];
    }

    /** Records that will not be stored, and were handed to the handler. */
    public long refused() {
        return counts[2];
    }

    /** Appends that found the buffer full for too long, and failed. */
    public long turnedAway() {
        return counts[3];
    }

    /** Requests that the service stored. */
    public long batches() {
        return counts[4];
    }

    /** Requests that were repeated. */
    public long retries() {
        return counts[5];
    }

    /** Records in memory. */
    public int bufferedRecords() {
        return bufferedRecords;
    }

    /** About how many bytes those take. */
    public long bufferedBytes() {
        return bufferedBytes;
    }

    /** Bytes of the spool's files; 0 without a spool. */
    public long spoolBytes() {
        return spoolBytes;
    }

    /** Why the last request failed; empty if it did not. */
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
