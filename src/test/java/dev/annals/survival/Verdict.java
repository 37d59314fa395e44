package dev.annals.survival;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;

/**
 * The answers to clients, compared with the feed.
 *
 * @param told records whose writers were told that they are stored
 * @param lost those of them that are not in the feed
 * @param renumbered those of them that have another sequence id than their writers were told
 * @param doubled records that are in the feed, or with one of its readers, more than once
 * @param misnumbered places of the feed that do not continue the place before
 * @param skipped places at which a reader has something else than the feed, or nothing although it has read on
 */
record Verdict(int told, int lost, int renumbered, int doubled, int misnumbered, int skipped) {

    /** The sequence id of a record whose writer was told that it is stored, and not where. */
    static final long UNKNOWN = 0;

    /** A record at its place, as it was read. */
    record Entry(long sequenceId, UUID id) {}

    /**
     * Compares.
     *
     * @param told the sequence id that the writer of each record was told
     * @param feed all of it, in the order in which it was read after all else had ended
     * @param readers what each has read without what it was told is gone, in that order
     */
    static Verdict of(Map<UUID, Long> told, List<Entry> feed, List<List<Entry>> readers) {
        Map<UUID, Long> places = new HashMap<>();
        int doubled = 0;
        int misnumbered = 0;
        for (int i = 0; i < feed.size(); i++) {
            Entry entry = feed.get(i);
            doubled += places.put(entry.id(), entry.sequenceId()) == null ? 0 : 1;
            misnumbered += entry.sequenceId() == i + 1L ? 0 : 1;
        }
        int lost = 0;
        int renumbered = 0;
        for (Map.Entry<UUID, Long> one : told.entrySet()) {
            Long place = places.get(one.getKey());
            if (place == null) {
                lost++;
            } else if (one.getValue() != UNKNOWN && !place.equals(one.getValue())) {
                renumbered++;
            }
        }
        int skipped = 0;
        for (List<Entry> reader : readers) {
            Set<UUID> seen = new HashSet<>();
            for (Entry entry : reader) {
                doubled += seen.add(entry.id()) ? 0 : 1;
            }
            for (int i = 0; i < Math.max(reader.size(), feed.size()); i++) {
                Entry read = i < reader.size() ? reader.get(i) : null;
                Entry there = i < feed.size() ? feed.get(i) : null;
                skipped += Objects.equals(read, there) ? 0 : 1;
            }
        }
        return new Verdict(told.size(), lost, renumbered, doubled, misnumbered, skipped);
    }

    /** Whether all is as the clients were told. */
    boolean isSound() {
        return told > 0 && lost + renumbered + doubled + misnumbered + skipped == 0;
    }
}
