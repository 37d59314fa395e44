package dev.annals.proof;

import java.util.Collection;
import java.util.List;

/**
 * What a log says of itself: C2SP tlog-checkpoint.
 *
 * @param origin which log
 * @param size how many leaves its tree has
 * @param root the tree's root
 */
public record Checkpoint(String origin, long size, Hash root) {

    /** Reads the text of a note. Further lines do not count. */
    public static Checkpoint of(Note note) {
        List<String> lines = note.text().lines().toList();
        if (lines.size() < 3 || lines.get(0).isEmpty() || lines.stream().anyMatch(String::isEmpty)) {
            throw new IllegalArgumentException("this note is no checkpoint");
        }
        return new Checkpoint(lines.get(0), CanonicalJson.natural(lines.get(1)), Hash.parse(lines.get(2)));
    }

    /**
     * Reads the checkpoint of a log.
     *
     * @param note the text of a signed note
     * @param keys of one log: their name is its origin. One that has signed is enough
     * @throws IllegalArgumentException if it is no checkpoint, is another log's, or none of these keys has signed it
     */
    public static Checkpoint open(String note, Collection<VerifierKey> keys) {
        Note parsed = Note.parse(note);
        Checkpoint checkpoint = of(parsed);
        List<VerifierKey> logs = keys.stream()
                .filter(key -> key.name().equals(checkpoint.origin))
                .toList();
        if (logs.isEmpty()) {
            throw new IllegalArgumentException(
                    "the checkpoint is that of the log " + checkpoint.origin + ", of which no key is known here");
        }
        if (parsed.signedBy(logs).isEmpty()) {
            throw new IllegalArgumentException("no key of " + checkpoint.origin + " has signed this checkpoint");
        }
        return checkpoint;
    }

    /**
     * Requires that this log begins with another one.
     *
     * @param proof of consistency; none where the other one is empty or as large
     * @throws IllegalArgumentException if the proof does not show it
     */
    public void requireContinues(Checkpoint older, List<Hash> proof) {
        if (!MerkleTree.isConsistent(older.size, older.root, size, root, proof)) {
            throw new IllegalArgumentException("The log of " + size + " records does not continue that of " + older.size
                    + ", which was seen before: records were changed, removed or inserted");
        }
    }

    /** What is signed. */
    public String text() {
        return origin + "\n" + size + "\n" + root + "\n";
    }
}
