package dev.annals.proof;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The redaction events of a log, for a reader that sees one page after another. It remembers at most 10,000 redacted records. Not
 * thread-safe.
 */
public final class RedactionEvents {

    private static final int MOST_RECORDS = 10_000;

    private record Redacted(String id, long sequenceId) {}

    private final Map<Redacted, Set<String>> named = new LinkedHashMap<>();

    /**
     * Takes proved records. Ignores those that are no redaction events.
     *
     * @throws IllegalArgumentException as in {@link RedactionEvent#of}
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

    /** The missing values of a record that no event names. */
    public Set<String> unnamed(ProvedRecord record) {
        Set<String> open = new TreeSet<>(record.redacted());
        open.removeAll(named.getOrDefault(
                new Redacted(record.record().id(), record.record().sequenceId()), Set.of()));
        return open;
    }

    /** A sentence for readers. */
    public static String finding(ProvedRecord record, Set<String> unnamed) {
        return "Record " + record.record().id() + " with the sequence id "
                + record.record().sequenceId() + " lacks its " + String.join(", ", unnamed) + ", and no "
                + RedactionEvent.ACTION + " record of the log says so";
    }
}
