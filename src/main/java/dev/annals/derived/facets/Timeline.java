package dev.annals.derived.facets;

import dev.annals.core.query.Filter;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Counts records by interval of time and key of their outcome. If there are too many intervals, they become longer. */
final class Timeline {

    /** Roughly. */
    static final int BYTES_PER_COUNT = 128;

    private final @Nullable Long start;
    private final @Nullable Long last;
    private final int most;
    private Interval interval;
    private NavigableMap<Long, Map<@Nullable Long, Integer>> counts = new TreeMap<>();

    /**
     * @param filter its times bound the range; without them, the records do
     * @param interval the shortest one
     * @param most the most intervals, unless they are years
     */
    Timeline(Filter filter, Interval interval, int most) {
        this.start = filter.start() == null ? null : filter.start().toEpochSecond();
        this.last = filter.end() == null ? null : filter.end().minusNanos(1_000).toEpochSecond();
        this.most = most;
        this.interval = interval;
        coarsen();
    }

    Interval interval() {
        return interval;
    }

    /** By the start of the interval, in order, and by the outcome's key, null for no outcome. */
    NavigableMap<Long, Map<@Nullable Long, Integer>> counts() {
        return by(interval);
    }

    int size() {
        return counts.values().stream().mapToInt(Map::size).sum();
    }

    void add(long moment, @Nullable Long outcome) {
        add(counts, interval.counted().start(moment), outcome, 1);
    }

    private static void add(
            Map<Long, Map<@Nullable Long, Integer>> counts, long start, @Nullable Long outcome, int count) {
        counts.computeIfAbsent(start, begin -> new HashMap<>()).merge(outcome, count, Integer::sum);
    }

    private NavigableMap<Long, Map<@Nullable Long, Integer>> by(Interval longer) {
        NavigableMap<Long, Map<@Nullable Long, Integer>> all = new TreeMap<>();
        counts.forEach((moment, outcomes) ->
                outcomes.forEach((outcome, count) -> add(all, longer.start(moment), outcome, count)));
        return all;
    }

    void coarsen() {
        if (counts.isEmpty() && (start == null || last == null)) {
            return;
        }
        long first = start == null ? counts.firstKey() : start;
        long end = last == null ? counts.lastKey() : last;
        Interval longer = interval.atMost(most, Math.min(first, end), end);
        if (longer != interval) {
            interval = longer;
            counts = by(longer.counted());
        }
    }
}
