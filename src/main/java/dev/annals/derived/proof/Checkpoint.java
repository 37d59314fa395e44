package dev.annals.derived.proof;

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
        if (lines.size() < 3
                || lines.get(0).isEmpty()
                || !lines.get(1).matches("0|[1-9][0-9]{0,17}")
                || lines.stream().anyMatch(String::isEmpty)) {
            throw new IllegalArgumentException("this note is no checkpoint");
        }
        return new Checkpoint(lines.get(0), Long.parseLong(lines.get(1)), Hash.parse(lines.get(2)));
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

    /** What is signed. */
    public String text() {
        return origin + "\n" + size + "\n" + root + "\n";
    }

    /** The checkpoint, signed by each of these keys. */
    public Note sign(List<SigningKey> keys) {
        return new Note(text(), keys.stream().map(key -> key.sign(text())).toList());
    }
}
