package dev.annals.derived.facets;

import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;

/**
 * Counts records by the value of a field. Keys in place of values keep it small.
 *
 * <p>A hash table with linear probing. The keys are hashes with a seed per request, so a writer cannot make them collide.
 */
final class ValueCounts {

    private static final int FIRST_SLOTS = 64;

    private static final int BYTES_PER_SLOT = Long.BYTES + Integer.BYTES + Long.BYTES;

    /** At most: a table that has just grown is three eighths full, and the old one still exists. */
    static final int BYTES_PER_KEY = 4 * BYTES_PER_SLOT;

    private static final Comparator<Group> RARE_FIRST =
            Comparator.comparingInt(Group::count).thenComparingLong(Group::newest);

    /**
     * Records that share a value.
     *
     * @param newest the highest sequence id among the records
     */
    record Group(long key, int count, long newest) {}

    private long[] keys = new long[FIRST_SLOTS];
    /** A slot with 0 is free. */
    private int[] counts = new int[FIRST_SLOTS];

    private long[] newest = new long[FIRST_SLOTS];
    private int size;

    int size() {
        return size;
    }

    /**
     * Adds a record.
     *
     * @param place the record's sequence id
     */
    void add(long key, long place) {
        int slot = slot(key);
        if (counts[slot] == 0) {
            keys[slot] = key;
            size++;
        }
        counts[slot]++;
        newest[slot] = Math.max(newest[slot], place);
        if (size > keys.length / 4 * 3) {
            grow();
        }
    }

    /** The slot of the key, or the free one for it. */
    private int slot(long key) {
        int last = keys.length - 1;
        int slot = (int) key & last;
        while (counts[slot] != 0 && keys[slot] != key) {
            slot = slot + 1 & last;
        }
        return slot;
    }

    private void grow() {
        long[] oldKeys = keys;
        int[] oldCounts = counts;
        long[] oldNewest = newest;
        keys = new long[2 * oldKeys.length];
        counts = new int[keys.length];
        newest = new long[keys.length];
        for (int old = 0; old < oldKeys.length; old++) {
            if (oldCounts[old] != 0) {
                int slot = slot(oldKeys[old]);
                keys[slot] = oldKeys[old];
                counts[slot] = oldCounts[old];
                newest[slot] = oldNewest[old];
            }
        }
    }

    /** In any order. Among equally frequent values, those with the newest records. */
    List<Group> top(int most) {
        PriorityQueue<Group> top = new PriorityQueue<>(RARE_FIRST);
        for (int slot = 0; slot < keys.length; slot++) {
            if (counts[slot] != 0) {
                top.add(new Group(keys[slot], counts[slot], newest[slot]));
                if (top.size() > most) {
                    top.remove();
                }
            }
        }
        return List.copyOf(top);
    }
}
