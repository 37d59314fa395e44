package dev.annals.proof;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;

/**
 * Compares missing values of records with the redaction events of the log. A value may be missing only if a later {@link RedactionEvent}
 * names its record and field, and an event may name no value that is still there.
 *
 * <p>It takes about 150 bytes for each record with missing values.
 */
public final class RedactedValues {

    private final long first;
    private final Map<String, Gone> records = new HashMap<>();
    private long values;

    /** @param first the sequence id of the first record to be passed */
    public RedactedValues(long first) {
        this.first = first;
    }

    /** The missing and the named fields of a record, a bit for each of {@link LeafRecord#REDACTABLE}. */
    private static final class Gone {
        private final long sequenceId;
        private final int fields;
        private int named;

        Gone(long sequenceId, int fields) {
            this.sequenceId = sequenceId;
            this.fields = fields;
        }

        int open() {
            return fields & ~named;
        }
    }

    /**
     * Adds the next record of the log.
     *
     * @param findings receives a sentence for each error
     */
    public void add(ProvedRecord proved, Consumer<String> findings) {
        LeafRecord record = proved.record();
        if (!proved.redacted().isEmpty()) {
            values += proved.redacted().size();
            records.put(record.id(), new Gone(record.sequenceId(), bits(proved.redacted())));
        }
        if (RedactionEvent.is(record)) {
            try {
                name(RedactionEvent.of(proved), findings);
            } catch (IllegalArgumentException e) {
                findings.accept(e.getMessage());
            }
        }
    }

    private void name(RedactionEvent event, Consumer<String> findings) {
        if (event.recordSequenceId() < first) {
            return;
        }
        Gone gone = records.get(event.recordId());
        int named = bits(event.fields());
        if (gone != null && gone.sequenceId != event.recordSequenceId()) {
            gone = null;
        }
        int left = gone == null ? named : named & ~gone.fields;
        if (left != 0) {
            findings.accept("record " + event.recordId() + " with the sequence id " + event.recordSequenceId()
                    + " has not lost its " + names(left) + ", as record " + event.id() + " says");
        }
        if (gone != null) {
            gone.named |= named;
        }
    }

    /** The number of missing values. */
    public long values() {
        return values;
    }

    /** The number of missing values that no event has named so far. */
    public long unnamed() {
        return records.values().stream()
                .mapToLong(gone -> Integer.bitCount(gone.open()))
                .sum();
    }

    void findUnnamed(Consumer<String> findings) {
        records.entrySet().stream()
                .filter(record -> record.getValue().open() != 0)
                .sorted((one, other) -> Long.compare(one.getValue().sequenceId, other.getValue().sequenceId))
                .forEach(record -> findings.accept("record " + record.getKey() + " with the sequence id "
                        + record.getValue().sequenceId + " lacks its "
                        + names(record.getValue().open()) + ", and no " + RedactionEvent.ACTION
                        + " record of the log says so"));
    }

    private static int bits(Set<String> fields) {
        int bits = 0;
        for (String field : fields) {
            bits |= 1 << LeafRecord.REDACTABLE.indexOf(field);
        }
        return bits;
    }

    private static String names(int bits) {
        List<String> names = new ArrayList<>();
        for (String field : new TreeSet<>(LeafRecord.REDACTABLE)) {
            if ((bits & 1 << LeafRecord.REDACTABLE.indexOf(field)) != 0) {
                names.add(field);
            }
        }
        return String.join(", ", names);
    }

    /** A sentence for readers about this number of missing values. */
    public static String count(long values) {
        return values == 0
                ? "No value is redacted."
                : values == 1 ? "1 value is redacted." : values + " values are redacted.";
    }
}
