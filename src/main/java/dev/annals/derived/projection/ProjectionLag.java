package dev.annals.derived.projection;

import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.function.LongSupplier;

/**
 * Measures how far projections are behind the heads of feeds, as scans of {@link Projector} see them. Figures change at the end of a round.
 *
 * <p>A projection is behind from the scan that first saw a missing record. Once it has indexed what that scan saw, it is behind from the
 * last scan instead. A pair that a round does not report is no longer behind.
 */
final class ProjectionLag {

    /** Further pairs of projection and project have no seconds. */
    private static final int MAX_TRACKED = 10_000;

    private final LongSupplier nanoTime;
    private final Map<Key, Behind> behind = new HashMap<>();
    private final Map<String, Lag> published = new HashMap<>();
    private Map<String, Long> counted = new HashMap<>();
    private long roundBegan;

    ProjectionLag(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    private record Key(String projection, UUID projectId) {}

    /**
     * @param head the record up to which something has been missing since {@code since}
     * @param seen the last scan that found it behind
     */
    private record Behind(long head, long since, long seen) {

        Behind seenAgain(long newHead, long sequenceId, long now) {
            return sequenceId < head ? new Behind(head, since, now) : new Behind(newHead, seen, now);
        }
    }

    private record Lag(long records, long since) {}

    synchronized void beginRound() {
        counted = new HashMap<>();
        roundBegan = nanoTime.getAsLong();
    }

    /**
     * Reports a projection that is behind in a project.
     *
     * @param head the last sequence id of the feed
     * @param records how many of them are missing
     * @param inRound false if another scan of the round covers this project
     */
    synchronized void report(String projection, UUID projectId, long head, long records, boolean inRound) {
        long now = nanoTime.getAsLong();
        Key key = new Key(projection, projectId);
        Behind before = behind.get(key);
        if (before != null) {
            behind.put(key, before.seenAgain(head, head - records, now));
        } else if (behind.size() < MAX_TRACKED) {
            behind.put(key, new Behind(head, now, now));
        }
        if (inRound) {
            counted.merge(projection, records, Long::sum);
        }
    }

    synchronized void endRound() {
        behind.values().removeIf(pair -> pair.seen() - roundBegan < 0);
        long now = nanoTime.getAsLong();
        published.clear();
        counted.forEach((projection, records) -> published.put(projection, new Lag(records, now)));
        behind.forEach((key, pair) -> published.computeIfPresent(
                key.projection(),
                (projection, lag) -> pair.since() - lag.since() < 0 ? new Lag(lag.records(), pair.since()) : lag));
    }

    /** As of the end of the last round. */
    synchronized long records(String projection) {
        Lag lag = published.get(projection);
        return lag == null ? 0 : lag.records();
    }

    /** The age of the oldest missing record; 0 if none was missing at the end of the last round. */
    synchronized double seconds(String projection) {
        Lag lag = published.get(projection);
        return lag == null || lag.records() == 0 ? 0 : (nanoTime.getAsLong() - lag.since()) / 1e9;
    }
}
