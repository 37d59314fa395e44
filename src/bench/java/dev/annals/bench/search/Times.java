package dev.annals.bench.search;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The times of searches of one kind. */
final class Times {

    private final List<Long> nanos = new ArrayList<>();
    private final List<Integer> found = new ArrayList<>();
    private int requests;
    private int late;

    /** @param inTime whether all was found that was wanted */
    void add(long took, int records, int sent, boolean inTime) {
        nanos.add(took);
        found.add(records);
        requests += sent;
        late += inTime ? 0 : 1;
    }

    int count() {
        return nanos.size();
    }

    /** The median number of records. */
    int records() {
        Collections.sort(found);
        return found.get(found.size() / 2);
    }

    /** The average number of requests of one search. */
    double requests() {
        return (double) requests / nanos.size();
    }

    /** Whether some did not find all. */
    boolean someLate() {
        return late > 0;
    }

    /** Milliseconds within which this share of them was answered, as text; a > where that one was given up. */
    String percentile(double share) {
        // Searches that were given up took longest.
        Collections.sort(nanos);
        int place = Math.max(0, (int) Math.ceil(share * nanos.size()) - 1);
        double milliseconds = nanos.get(place) / 1e6;
        return (place >= nanos.size() - late ? "> " : "")
                + (milliseconds < 10 ? String.format("%.1f", milliseconds) : String.format("%,.0f", milliseconds));
    }
}
