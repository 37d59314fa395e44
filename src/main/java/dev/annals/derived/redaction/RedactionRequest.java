package dev.annals.derived.redaction;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.kernel.http.FieldError;
import dev.annals.kernel.http.Problem;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.http.RequestFields;
import dev.annals.proof.CanonicalJson;
import dev.annals.proof.LeafRecord;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * The body of {@code POST /v1/project-logs/{id}/redactions}.
 *
 * @param fields by the names of docs/leaf-format.md
 * @param reason shown to all readers of the feed
 */
record RedactionRequest(Set<String> fields, String reason) {

    private static final int MAX_REASON = 1_024;
    /** A reason may contain shorter values by chance. */
    private static final int SHORTEST_VALUE = 4;

    private static final Map<String, String> NOT_REDACTABLE = Map.of(
            "action", "every record has one, and is found and counted by it",
            "timestamp", "every record has one, and is found and counted by it",
            "recorded_by", "it names the writer of the record",
            "number", "the record shows that numbers have no gap");

    /** @throws ProblemException {@code malformed-json} or {@code invalid-body} */
    static RedactionRequest read(byte[] body) {
        RequestFields fields = new RequestFields(body, Set.of("fields", "reason"));
        Set<String> named = named(fields);
        String reason = fields.text("reason", MAX_REASON, true);
        fields.requireValid();
        return new RedactionRequest(named, reason == null ? "" : reason);
    }

    private static Set<String> named(RequestFields fields) {
        Set<String> named = new LinkedHashSet<>();
        JsonNode value = fields.get("fields");
        if (value == null || !value.isArray() || value.isEmpty() || value.size() > LeafRecord.REDACTABLE.size()) {
            fields.wrong(
                    "fields", "It must be an array of 1 to " + LeafRecord.REDACTABLE.size() + " of " + names() + ".");
            return named;
        }
        for (int i = 0; i < value.size(); i++) {
            String name = value.get(i).isTextual() ? value.get(i).textValue() : "";
            if (NOT_REDACTABLE.containsKey(name)) {
                fields.wrong("fields/" + i, "It cannot be redacted: " + NOT_REDACTABLE.get(name) + ".");
            } else if (!LeafRecord.REDACTABLE.contains(name) || !named.add(name)) {
                fields.wrong("fields/" + i, "It must be one of " + names() + ", each once.");
            }
        }
        return named;
    }

    private static String names() {
        return String.join(", ", LeafRecord.REDACTABLE);
    }

    /**
     * The fields that are still to be redacted.
     *
     * @param own whether the record is an event of the service, of which only the message can be redacted
     * @param mayRead if false, no refusal depends on the values of the record
     * @param set the fields that the record has, each in canonical JSON
     * @param gone fields that were redacted before
     * @throws ProblemException {@code invalid-body} for another field of an event; and, if the caller may read, for a field that the record
     *     never had, or for a reason that contains a value to be redacted
     */
    SortedSet<String> left(boolean own, boolean mayRead, Map<String, String> set, Set<String> gone) {
        List<FieldError> errors = new ArrayList<>();
        SortedSet<String> left = new TreeSet<>();
        int at = 0;
        for (String field : fields) {
            String value = set.get(field);
            if (own && !field.equals("message")) {
                errors.add(new FieldError(
                        "/fields/" + at,
                        "This record is the event of a redaction: only its message, the reason, can be redacted."));
            } else if (value != null) {
                left.add(field);
                if (mayRead && reasonContains(value)) {
                    errors.add(new FieldError(
                            "/reason", "It contains the value of " + field + ", which is being redacted."));
                }
            } else if (mayRead && !gone.contains(field)) {
                errors.add(new FieldError("/fields/" + at, "The record has no " + field + "."));
            }
            at++;
        }
        if (!errors.isEmpty()) {
            throw new ProblemException(
                    Problem.of(ProblemType.INVALID_BODY, "Nothing was redacted: correct what errors names.")
                            .withErrors(errors));
        }
        return left;
    }

    /**
     * The reason, with {@code […]} in place of each redacted value. A refusal would confirm the value to a caller that may not read it.
     *
     * @param values in canonical JSON
     */
    String reasonWithout(Stream<String> values) {
        return values.filter(this::reasonContains)
                .map(CanonicalJson::string)
                .sorted(Comparator.comparing(String::length).reversed())
                .reduce(reason, (left, value) -> left.replace(value, "[…]"));
    }

    private boolean reasonContains(String canonicalValue) {
        if (!canonicalValue.startsWith("\"")) {
            return false;
        }
        String text = CanonicalJson.string(canonicalValue);
        return text.length() >= SHORTEST_VALUE && reason.contains(text);
    }
}
