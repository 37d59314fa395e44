package dev.annals.core.append;

import dev.annals.core.record.AuditRecord;
import dev.annals.kernel.database.Binds;
import io.vertx.mutiny.sqlclient.Row;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The numbers that the records of a batch want: each wants the next value of the sequence it names, in the order of the
 * batch.
 */
final class BatchNumbers {

    private final @Nullable String[] sequences;
    /** For each record, how many records before it name the same sequence; null if it names none. */
    private final @Nullable Long[] places;

    private final Map<String, Long> counts = new TreeMap<>();

    private BatchNumbers(List<AuditRecord> records) {
        sequences = new String[records.size()];
        places = new Long[records.size()];
        for (int i = 0; i < sequences.length; i++) {
            String sequence = records.get(i).numberSequence();
            sequences[i] = sequence;
            if (sequence != null) {
                places[i] = counts.merge(sequence, 1L, Long::sum) - 1;
            }
        }
    }

    /** What these records want; null if none wants a number. */
    static @Nullable BatchNumbers of(List<AuditRecord> records) {
        for (AuditRecord record : records) {
            if (record.numberSequence() != null) {
                return new BatchNumbers(records);
            }
        }
        return null;
    }

    /** Sets the binds that {@code append_numbered_records.sql} has in addition to those of {@code append_records.sql}. */
    Binds bind(Binds binds) {
        return binds.bind("number_sequence", sequences)
                .bind("number_place", places)
                .bind("sequence_name", counts.keySet().toArray(String[]::new))
                .bind("sequence_count", counts.values().toArray(Long[]::new));
    }

    /** The value of each record, from the result of {@code append_numbered_records.sql}. */
    @Nullable
    Long[] values(Row inserted) {
        String[] names = inserted.getArrayOfStrings("sequences");
        Long[] firsts = inserted.getArrayOfLongs("first_values");
        Map<String, Long> firstValues = new HashMap<>();
        for (int i = 0; i < names.length; i++) {
            firstValues.put(names[i], firsts[i]);
        }
        @Nullable Long[] values = new Long[sequences.length];
        for (int i = 0; i < values.length; i++) {
            String sequence = sequences[i];
            Long place = places[i];
            if (sequence != null && place != null) {
                Long first = firstValues.get(sequence);
                if (first == null) {
                    throw new IllegalStateException("records were committed without numbers of " + sequence);
                }
                values[i] = first + place;
            }
        }
        return values;
    }
}
