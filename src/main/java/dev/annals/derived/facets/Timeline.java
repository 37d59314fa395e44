package dev.annals.derived.facets;

import dev.annals.core.query.Filter;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * How many records there are in each interval of time, by the keys of their outcomes. Where there turn out to be more intervals than
 * there may be, they become longer.
 */
final class Timeline {

    /** What a count takes in memory, roughly. */
    static final int BYTES_PER_COUNT = 128;

    private final @Nullable Long start;
    private final @Nullable Long last;
    private final int most;
    private Interval interval;
    private NavigableMap<Long, Map<@Nullable Long, Integer>> counts = new TreeMap<>();

    /**
     * @param filter whose times belong to the range; where it has none, the range is that of the records
     * @param interval the finest one
     * @param most how many of them there may be, unless they are years
     */
    Timeline(Filter filter, Interval interval, int most) {
        this.start = filter.start() == null ? null : filter.start().toEpochSecond();
        this.last = filter.end() == null ? null : filter.end().minusNanos(1_000).toEpochSecond();
        this.most = most;
        this.interval = interval;
        coarsen();
    }

    /** The length of the intervals. */
    Interval interval() {
        return interval;
    }

    /** For the beginning of each interval that has records, in order, how many; the key is null for those without outcome. */
    NavigableMap<Long, Map<@Nullable Long, Integer>> counts() {
        return by(interval);
    }

    /** How many counts it has. */
    int size() {
        return counts.values().stream().mapToInt(Map::size).sum();
    }

    /** Adds a record of a moment. */
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

    /** Makes the intervals as long as they have to be. */
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
