package dev.annals.bench.service;

import java.util.Arrays;

/** The latencies of the requests of a load. */
public final class Latencies {

    private final long[] answered;
    private final int requests;

    /** Takes nanoseconds; 0 is a request that failed or was never answered. */
    public Latencies(long[] nanos) {
        this.requests = nanos.length;
        this.answered = Arrays.stream(nanos).filter(time -> time > 0).sorted().toArray();
    }

    /** The number of requests that failed or were never answered. */
    int unanswered() {
        return requests - answered.length;
    }

    /** Milliseconds within which this share of all requests was answered; infinite where fewer ever were. */
    public double percentile(double share) {
        int index = Math.max(0, (int) Math.ceil(share * requests) - 1);
        return index < answered.length ? answered[index] / 1e6 : Double.POSITIVE_INFINITY;
    }
}
