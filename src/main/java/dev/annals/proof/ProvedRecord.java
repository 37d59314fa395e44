package dev.annals.proof;

import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A record with what recomputes its entry: either its seed, or, where some of its fields were redacted, the salts of those that
 * are left and the digests of those that are gone.
 *
 * @param record the record
 * @param entry what its leaf hashes
 */
public record ProvedRecord(LeafRecord record, Hash entry) {

    private static final int SALT_BYTES = 16;

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
            return new ProvedRecord(record, record.entry(Seed.parse(CanonicalJson.string(seed))));
        }
        if (seed == null && salts != null && redacted != null) {
            return new ProvedRecord(
                    record,
                    record.entry(digests(record, CanonicalJson.members(salts), CanonicalJson.members(redacted))));
        }
        throw new IllegalArgumentException("record " + record.id() + " has neither a seed, nor salts and redacted");
    }

    private static SortedMap<String, Hash> digests(
            LeafRecord record, SortedMap<String, String> salts, SortedMap<String, String> redacted) {
        SortedMap<String, Hash> digests = new TreeMap<>();
        record.fields().forEach((name, value) -> {
            String salt = salts.get(name);
            if (salt == null || salts.size() != record.fields().size()) {
                throw new IllegalArgumentException("record " + record.id() + " has other salts than fields");
            }
            String text = CanonicalJson.string(salt);
            Base64Url.parse(text, SALT_BYTES);
            digests.put(name, LeafRecord.digest(text, name, value));
        });
        for (Map.Entry<String, String> gone : redacted.entrySet()) {
            Hash digest = Hash.at(Base64Url.parse(CanonicalJson.string(gone.getValue()), Hash.BYTES), 0);
            if (!LeafRecord.FIELDS.contains(gone.getKey()) || digests.put(gone.getKey(), digest) != null) {
                throw new IllegalArgumentException(
                        "record " + record.id() + " cannot have redacted its field " + gone.getKey());
            }
        }
        return digests;
    }
}
