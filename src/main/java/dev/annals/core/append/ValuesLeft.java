package dev.annals.core.append;

import dev.annals.core.record.AuditRecord;
import dev.annals.core.sequence.SequenceKind;
import io.vertx.mutiny.sqlclient.Row;
import io.vertx.mutiny.sqlclient.RowSet;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** How many values the sequences named by some records have left, as {@code read_values_left.sql} found a moment ago. */
final class ValuesLeft {

    private final Map<String, State> states = new HashMap<>();
    private final Map<String, Long> taken = new HashMap<>();

    private record State(SequenceKind kind, boolean deleted, long left) {}

    ValuesLeft(RowSet<Row> rows) {
        for (Row row : rows) {
            states.put(
                    row.getString("name"),
                    new State(
                            SequenceKind.valueOf(row.getString("kind")),
                            row.getBoolean("deleted"),
                            row.getLong("values_left")));
        }
    }

    /**
     * Why a record cannot get a number.
     *
     * @param wanted how many values of each sequence the earlier records of its request want; this record's wish is added
     * @return null if it can
     */
    @Nullable
    String whyNot(AuditRecord record, Map<String, Long> wanted) {
        String name = record.numberSequence();
        if (name == null) {
            return null;
        }
        State state = states.get(name);
        if (state == null) {
            return "names a sequence that the project does not have: define it with PUT /v1/sequences/" + name;
        }
        if (state.deleted()) {
            return "names a sequence that was deleted: name another one";
        }
        if (state.kind() != SequenceKind.SYNCHRONOUS) {
            return "names a sequence of kind " + state.kind()
                    + ", which leaves a gap if an append fails: name one of kind SYNCHRONOUS";
        }
        if (wanted.merge(name, 1L, Long::sum) + taken.getOrDefault(name, 0L) > state.left()) {
            return "names a sequence that is exhausted: it never starts again, so name another one";
        }
        return null;
    }

    /** Counts the values that the records of a request want as taken. */
    void take(Map<String, Long> wanted) {
        wanted.forEach((name, count) -> taken.merge(name, count, Long::sum));
    }
}
