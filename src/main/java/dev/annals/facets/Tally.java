package dev.annals.facets;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;

/** How many records have each value of a field. Values are known by their keys alone, so that a tally stays small. */
final class Tally {

    /** What the arrays take for each key, and again while they are merged. */
    static final int BYTES_PER_KEY = 2 * (Long.BYTES + Integer.BYTES + Long.BYTES);

    private static final Comparator<Group> RARE_FIRST =
            Comparator.comparingInt(Group::count).thenComparingLong(Group::newest);

    /**
     * Records that share a value.
     *
     * @param newest the highest sequence id among them
     */
    record Group(long key, int count, long newest) {}

    // In the order of the keys.
    private long[] keys = {};
    private int[] counts = {};
    private long[] newest = {};

    /** How many different values there are. */
    int size() {
        return keys.length;
    }

    /** Adds groups of other records, of which no two share a key. */
    void add(List<Group> groups) {
        List<Group> more = new ArrayList<>(groups);
        more.sort(Comparator.comparingLong(Group::key));
        int known = more.stream()
                .mapToInt(group -> Arrays.binarySearch(keys, group.key()) >= 0 ? 1 : 0)
                .sum();
        long[] oldKeys = keys;
        int[] oldCounts = counts;
        long[] oldNewest = newest;
        keys = new long[oldKeys.length + more.size() - known];
        counts = new int[keys.length];
        newest = new long[keys.length];
        int old = 0;
        int place = 0;
        for (Group group : more) {
            while (old < oldKeys.length && oldKeys[old] < group.key()) {
                set(place++, oldKeys[old], oldCounts[old], oldNewest[old++]);
            }
            boolean same = old < oldKeys.length && oldKeys[old] == group.key();
            set(
                    place++,
                    group.key(),
                    group.count() + (same ? oldCounts[old] : 0),
                    Math.max(group.newest(), same ? oldNewest[old] : 0));
            old += same ? 1 : 0;
        }
        while (old < oldKeys.length) {
            set(place++, oldKeys[old], oldCounts[old], oldNewest[old++]);
        }
    }

    private void set(int place, long key, int count, long last) {
        keys[place] = key;
        counts[place] = count;
        newest[place] = last;
    }

    /** The most frequent values; of those that are equally frequent, the ones seen last. In any order. */
    List<Group> top(int most) {
        PriorityQueue<Group> top = new PriorityQueue<>(RARE_FIRST);
        for (int place = 0; place < keys.length; place++) {
            top.add(new Group(keys[place], counts[place], newest[place]));
            if (top.size() > most) {
                top.remove();
            }
        }
        return List.copyOf(top);
    }
}
