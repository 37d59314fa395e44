package dev.annals.proof;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * What records of a log say was redacted, for a reader who sees one page after the other: it remembers at most 10,000 redacted
 * records. Not for several threads.
 */
public final class RedactionEvents {

    private static final int MOST_RECORDS = 10_000;

    private record Redacted(String id, long sequenceId) {}

    private final Map<Redacted, Set<String>> named = new LinkedHashMap<>();

    /**
     * Takes proved records, of which those with another action do not count.
     *
     * @throws IllegalArgumentException if one has the action, and no redaction writes it so
     */
    public void add(Collection<ProvedRecord> records) {
        if (named.size() > MOST_RECORDS) {
            named.clear();
        }
        for (ProvedRecord record : records) {
            if (RedactionEvent.is(record.record())) {
                RedactionEvent event = RedactionEvent.of(record);
                named.computeIfAbsent(
                                new Redacted(event.recordId(), event.recordSequenceId()), redacted -> new TreeSet<>())
                        .addAll(event.fields());
            }
        }
    }

    /** The fields whose values are gone from a record, and which none of these names. */
    public Set<String> unnamed(ProvedRecord record) {
        Set<String> open = new TreeSet<>(record.redacted());
        open.removeAll(named.getOrDefault(
                new Redacted(record.record().id(), record.record().sequenceId()), Set.of()));
        return open;
    }

    /** What a reader tells of a record whose values are gone though no record of the log names them. */
    public static String finding(ProvedRecord record, Set<String> unnamed) {
        return "Record " + record.record().id() + " with the sequence id "
                + record.record().sequenceId() + " lacks its " + String.join(", ", unnamed) + ", and no "
                + RedactionEvent.ACTION + " record of the log says so";
    }
}
