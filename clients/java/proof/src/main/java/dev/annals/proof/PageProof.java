package dev.annals.proof;

import jakarta.annotation.Nullable;
import java.util.List;
import java.util.SortedMap;

/**
 * A proof that records are consecutive records of a log, without a gap: compact ranges of all leaves before and after them.
 *
 * @param start the index of the first record's leaf
 * @param end the index after the last leaf
 * @param left the hashes of the range from 0 to before {@code start}
 * @param right the hashes of the range from {@code end} to before the size of the checkpoint
 */
public record PageProof(long start, long end, List<Hash> left, List<Hash> right) {

    /**
     * Reads the JSON of the API. Ignores further members.
     *
     * @throws IllegalArgumentException if it is not a proof
     */
    public static PageProof parse(@Nullable String json) {
        if (json == null) {
            throw new IllegalArgumentException("the page has no proof");
        }
        return of(CanonicalJson.members(json));
    }

    static PageProof of(SortedMap<String, String> proof) {
        return new PageProof(
                CanonicalJson.natural(proof.get("start")),
                CanonicalJson.natural(proof.get("end")),
                Hash.list(proof.get("left")),
                Hash.list(proof.get("right")));
    }

    /**
     * Reads the records of a page, as the API writes them, and verifies them.
     *
     * @throws IllegalArgumentException as in {@link #verify}, or if one is not a record
     */
    public List<ProvedRecord> verified(List<String> records, Checkpoint checkpoint) {
        List<ProvedRecord> proved = records.stream().map(ProvedRecord::parse).toList();
        verify(proved, checkpoint);
        return proved;
    }

    /**
     * Verifies the records of a page.
     *
     * @param records in the order of the page
     * @param checkpoint {@linkplain Checkpoint#open opened} before
     * @throws IllegalArgumentException if they are not records of the log
     */
    public void verify(List<ProvedRecord> records, Checkpoint checkpoint) {
        if (end - start != records.size() || start < 0 || end > checkpoint.size()) {
            throw new IllegalArgumentException("the proof is about the leaves " + start + " to before " + end
                    + ", and the page has " + records.size() + " records");
        }
        CompactRange tree = CompactRange.of(0, start, left);
        for (ProvedRecord record : records) {
            if (record.record().sequenceId() != tree.end() + 1) {
                throw new IllegalArgumentException("record " + record.record().id() + " has the sequence id "
                        + record.record().sequenceId() + ", and its place is that of " + (tree.end() + 1));
            }
            tree.append(record.entry().leaf());
        }
        tree.append(CompactRange.of(end, checkpoint.size(), right));
        if (!tree.root().equals(checkpoint.root())) {
            throw new IllegalArgumentException("the records with the sequence ids " + (start + 1) + " to " + end
                    + " are not those of the log of " + checkpoint.size() + " records");
        }
    }
}
