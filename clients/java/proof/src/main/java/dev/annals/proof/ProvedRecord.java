package dev.annals.proof;

import jakarta.annotation.Nullable;
import java.util.Set;
import java.util.SortedMap;

/**
 * A record with what recomputes its entry: either its seed, or, where some of its fields were redacted, the salts of those that
 * are left and the digests of those that are gone.
 *
 * @param record the record
 * @param entry what its leaf hashes
 * @param redacted the fields whose values are gone. Whether the log says so, the record alone does not tell: see {@link RedactionEvent}
 */
public record ProvedRecord(LeafRecord record, Hash entry, Set<String> redacted) {

    /**
     * Reads a record that a page with {@code proof} or a proof shows.
     *
     * @param json a record of the API with the member {@code seed}, or with {@code salts} and {@code redacted}
     * @throws IllegalArgumentException if it is anything else
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
