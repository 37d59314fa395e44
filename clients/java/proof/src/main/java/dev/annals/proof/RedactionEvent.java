package dev.annals.proof;

import java.util.Set;
import java.util.SortedMap;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * A record that states which values of an earlier record were redacted. Only the function {@code annals.redact} appends such a record: the
 * database refuses actions that begin with {@code annals.} from all roles but its owner.
 *
 * @param recordId the redacted record
 * @param recordSequenceId of the redacted record, below {@code sequenceId}
 * @param fields of {@link LeafRecord#REDACTABLE}
 */
public record RedactionEvent(String id, long sequenceId, String recordId, long recordSequenceId, Set<String> fields) {

    public static final String ACTION = "annals.redact";

    private static final Pattern SEQUENCE_ID = Pattern.compile("[1-9][0-9]{0,17}");

    /** Whether a record has the action {@link #ACTION}. */
    public static boolean is(LeafRecord record) {
        return CanonicalJson.quoted(ACTION).equals(record.fields().get("action"));
    }

    /**
     * Reads a record with this action.
     *
     * @throws IllegalArgumentException if {@code annals.redact} does not write such a record
     */
    public static RedactionEvent of(ProvedRecord proved) {
        LeafRecord record = proved.record();
        String unlike = "record " + record.id() + " with the sequence id " + record.sequenceId() + " has the action "
                + ACTION + ", and is not as a redaction writes it";
        SortedMap<String, String> fields = record.fields();
        try {
            SortedMap<String, String> says = CanonicalJson.members(fields.getOrDefault("metadata", ""));
            String place = says.getOrDefault("sequence_id", "");
            Set<String> names = names(says.getOrDefault("fields", ""));
            String subject = CanonicalJson.string(fields.getOrDefault("subject.id", ""));
            if (is(record)
                    && "\"record\"".equals(fields.get("subject.type"))
                    && "\"success\"".equals(fields.get("outcome"))
                    && fields.containsKey("recorded_by")
                    && says.size() == 2
                    && SEQUENCE_ID.matcher(place).matches()
                    && Long.parseLong(place) < record.sequenceId()
                    && !names.isEmpty()
                    && LeafRecord.REDACTABLE.containsAll(names)) {
                return new RedactionEvent(record.id(), record.sequenceId(), subject, Long.parseLong(place), names);
            }
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(unlike, e);
        }
        throw new IllegalArgumentException(unlike);
    }

    private static Set<String> names(String array) {
        Set<String> names = new TreeSet<>();
        for (String name : CanonicalJson.elements(array)) {
            if (!names.add(CanonicalJson.string(name))) {
                throw new IllegalArgumentException("a field is named twice");
            }
        }
        return names;
    }
}
