package dev.annals.access.tokens;

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

    void add(String address) {
        add(address, 1);
    }

    private synchronized void add(@Nullable String address, long count) {
        if (address != null && (counts.size() < ADDRESSES || counts.containsKey(address))) {
            counts.merge(address, count, Long::sum);
        } else {
            others += count;
        }
    }

    /** Some that were taken, and could not be recorded, are taken again next time. */
    synchronized void giveBack(List<Failures> taken) {
        for (Failures failures : taken) {
            add(failures.address(), failures.count());
            since = since.isBefore(failures.from()) ? since : failures.from();
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
