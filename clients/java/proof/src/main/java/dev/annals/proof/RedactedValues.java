package dev.annals.proof;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;

/**
 * Compares the values that are gone from records with the records of the same log that say so. A value may be gone only if a later
 * record with the action {@code annals.redact} names its record and its field; and that record may name nothing that is left.
 *
 * <p>It keeps about 150 bytes for each record of which something is gone.
 */
public final class RedactedValues {

    private final long first;
    private final Map<String, Gone> records = new HashMap<>();
    private long values;

    /** @param first the sequence id of the first record that is given */
    public RedactedValues(long first) {
        this.first = first;
    }

    /** What is gone of a record, and what of it has been named; one bit for each of {@link LeafRecord#REDACTABLE}. */
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
     * Takes the next record of the log.
     *
     * @param findings takes a sentence for each thing that is not as it should be
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

    /** How many values are gone. */
    public long values() {
        return values;
    }

    /** How many of them no record has named that was given. */
    public long unnamed() {
        return records.values().stream()
                .mapToLong(gone -> Integer.bitCount(gone.open()))
                .sum();
    }

    /** Says of each record which of its values are gone that no record has named. */
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

    /**
     * A sentence for readers.
     *
     * @param values how many are gone
     */
    public static String count(long values) {
        return values == 0
                ? "No value is redacted."
                : values == 1 ? "1 value is redacted." : values + " values are redacted.";
    }
}
