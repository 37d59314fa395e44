package dev.annals.core.feed;

import dev.annals.core.query.Filter;
import io.smallrye.mutiny.Uni;
import io.vertx.mutiny.sqlclient.Pool;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Narrows a feed to the places that may pass a filter. It never leaves out a record that passes; {@link DatabaseReader} tests
 * the records themselves.
 */
public interface FeedIndex {

    /**
     * Begins with the place {@code behind}, unless it is the start.
     *
     * @param limit the number of records to find
     */
    Uni<ScanPlan> planForward(UUID projectId, long behind, Filter filter, int limit);

    /** Begins with the place {@code before}, or at the head if it is null. */
    Uni<ScanPlan> planBack(UUID projectId, @Nullable Long before, Filter filter, int limit);

    /** The copy of this index on another server. */
    FeedIndex readBy(Pool pool);

    /** Ranges of sequence ids to scan, of which no two touch. Add them in the feed's order, or all against it. */
    final class ScanPlan {

        private final boolean ascending;
        private final List<Long> first = new ArrayList<>();
        private final List<Long> last = new ArrayList<>();
        private final long indexedThrough;
        private long budget;

        /**
         * @param budget the largest number of places to scan
         * @param indexedThrough the last sequence id of the index
         */
        public ScanPlan(boolean ascending, long budget, long indexedThrough) {
            this.ascending = ascending;
            this.budget = budget;
            this.indexedThrough = indexedThrough;
        }

        public long indexedThrough() {
            return indexedThrough;
        }

        /** Adds one place beyond the budget: a cursor needs it. */
        public void addPlace(long sequenceId) {
            budget++;
            add(sequenceId, sequenceId);
        }

        /**
         * Adds what the budget allows, without the places that the plan already has. Returns whether the budget allowed all
         * of it.
         */
        public boolean add(long from, long to) {
            int end = first.size() - 1;
            long lowest = ascending && end >= 0 ? Math.max(from, last.get(end) + 1) : from;
            long highest = !ascending && end >= 0 ? Math.min(to, first.get(end) - 1) : to;
            if (lowest > highest) {
                return true;
            }
            if (budget == 0) {
                return false;
            }
            boolean whole = highest - lowest < budget;
            if (!whole && ascending) {
                highest = lowest + budget - 1;
            } else if (!whole) {
                lowest = highest - budget + 1;
            }
            budget -= highest - lowest + 1;
            if (end >= 0 && ascending && last.get(end) == lowest - 1) {
                last.set(end, highest);
            } else if (end >= 0 && !ascending && first.get(end) == highest + 1) {
                first.set(end, lowest);
            } else {
                first.add(lowest);
                last.add(highest);
            }
            return whole;
        }

        public long budget() {
            return budget;
        }

        /** The lowest sequence id of each range. */
        public Long[] first() {
            return first.toArray(Long[]::new);
        }

        /** The highest sequence id of each range. */
        public Long[] last() {
            return last.toArray(Long[]::new);
        }

        /** Removes at most so many places from the beginning of a plan against the feed's order, and returns them. */
        public ScanPlan takeBack(long places) {
            ScanPlan taken = new ScanPlan(false, places, indexedThrough);
            int range = 0;
            while (range < first.size() && taken.add(first.get(range), last.get(range))) {
                range++;
            }
            first.subList(0, range).clear();
            last.subList(0, range).clear();
            if (!first.isEmpty() && taken.lowest() <= last.get(0)) {
                last.set(0, taken.lowest() - 1);
            }
            return taken;
        }

        public boolean isEmpty() {
            return first.isEmpty();
        }

        public long places() {
            long places = 0;
            for (int range = 0; range < first.size(); range++) {
                places += last.get(range) - first.get(range) + 1;
            }
            return places;
        }

        /** For a plan against the feed's order. */
        public long lowest() {
            return first.isEmpty() ? Long.MAX_VALUE : first.get(first.size() - 1);
        }

        /** For a plan in the feed's order. */
        public long highest() {
            return last.isEmpty() ? 0 : last.get(last.size() - 1);
        }
    }
}
