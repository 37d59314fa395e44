package dev.annals.proof;

import java.util.Collection;
import java.util.List;

/**
 * The name, size and root of a log: C2SP tlog-checkpoint.
 *
 * @param origin the name of the log
 * @param size the number of leaves
 */
public record Checkpoint(String origin, long size, Hash root) {

    /** Ignores further lines. Verifies no signature. */
    public static Checkpoint of(Note note) {
        List<String> lines = note.text().lines().toList();
        if (lines.size() < 3 || lines.get(0).isEmpty() || lines.stream().anyMatch(String::isEmpty)) {
            throw new IllegalArgumentException("this note is no checkpoint");
        }
        return new Checkpoint(lines.get(0), CanonicalJson.natural(lines.get(1)), Hash.parse(lines.get(2)));
    }

    /**
     * Reads and verifies the checkpoint of a log.
     *
     * @param keys of one log, whose origin is their name. A signature of one of them suffices
     * @throws IllegalArgumentException if it is not a checkpoint, belongs to another log, or is signed by none of these keys
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
     * Verifies that this log begins with another one.
     *
     * @param proof of consistency; empty if the other one is empty or as large
     * @throws IllegalArgumentException if the proof fails
     */
    public void requireContinues(Checkpoint older, List<Hash> proof) {
        if (!MerkleTree.isConsistent(older.size, older.root, size, root, proof)) {
            throw new IllegalArgumentException("The log of " + size + " records does not continue that of " + older.size
                    + ", which was seen before: records were changed, removed or inserted");
        }
    }

    /** The text that is signed. */
    public String text() {
        return origin + "\n" + size + "\n" + root + "\n";
    }
}
