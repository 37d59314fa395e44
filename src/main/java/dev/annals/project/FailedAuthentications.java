package dev.annals.project;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Requests without a valid token, by address: so many become one event, and a flood of addresses few of them. What is counted
 * here waits for {@link #take}, and is bounded.
 */
final class FailedAuthentications {

    /** Of so many addresses at a time, each is counted by itself. */
    private static final int ADDRESSES = 1_000;
    /** So many of them become events of their own, those with the most failures. */
    static final int EVENTS = 20;

    private Map<String, Long> counts = new LinkedHashMap<>();
    private long others;
    private Instant since = Instant.now();

    /**
     * Some failures.
     *
     * @param address null for those of all other addresses together
     */
    record Failures(@Nullable String address, long count, Instant from, Instant to) {}

    synchronized void add(String address) {
        if (counts.size() < ADDRESSES || counts.containsKey(address)) {
            counts.merge(address, 1L, Long::sum);
        } else {
            others++;
        }
    }

    /** What was counted since it was last taken. */
    synchronized List<Failures> take() {
        Instant now = Instant.now();
        List<Failures> taken = new ArrayList<>();
        List<Map.Entry<String, Long>> most = counts.entrySet().stream()
                .sorted(Map.Entry.comparingByValue(Comparator.reverseOrder()))
                .toList();
        for (Map.Entry<String, Long> one : most) {
            if (taken.size() < EVENTS) {
                taken.add(new Failures(one.getKey(), one.getValue(), since, now));
            } else {
                others += one.getValue();
            }
        }
        if (others > 0) {
            taken.add(new Failures(null, others, since, now));
        }
        counts = new LinkedHashMap<>();
        others = 0;
        since = now;
        return taken;
    }
}
