package dev.annals.proof;

import jakarta.annotation.Nullable;
import java.util.Set;
import java.util.SortedMap;

/**
 * A record with the values from which its entry follows: its seed, or, after redactions, the salts of remaining fields and the digests of
 * redacted ones.
 *
 * @param entry the input of its leaf
 * @param redacted the fields whose values are gone. {@link RedactionEvent}s of the log tell whether they were redacted
 */
public record ProvedRecord(LeafRecord record, Hash entry, Set<String> redacted) {

    /**
     * Reads a record of a proved page or of a proof.
     *
     * @param json a record of the API with the member {@code seed}, or with {@code salts} and {@code redacted}
     * @throws IllegalArgumentException if it is not such a record
     */
    public static ProvedRecord parse(String json) {
        SortedMap<String, String> members = CanonicalJson.members(json);
        @Nullable String seed = members.remove("seed");
        @Nullable String salts = members.remove("salts");
        @Nullable String redacted = members.remove("redacted");
        LeafRecord record = LeafRecord.of(members);
        if (seed != null && salts == null && redacted == null) {
            return new ProvedRecord(record, record.entry(Seed.parse(CanonicalJson.string(seed))), Set.of());
        }
        if (seed == null && salts != null && redacted != null) {
            SortedMap<String, String> digests = strings(redacted);
            return new ProvedRecord(record, record.entry(strings(salts), digests), digests.keySet());
        }
        throw new IllegalArgumentException("record " + record.id() + " has neither a seed, nor salts and redacted");
    }

    private static SortedMap<String, String> strings(String json) {
        SortedMap<String, String> members = CanonicalJson.members(json);
        members.replaceAll((name, value) -> CanonicalJson.string(value));
        return members;
    }
}
