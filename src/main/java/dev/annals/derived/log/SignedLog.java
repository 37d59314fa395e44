package dev.annals.derived.log;

import dev.annals.proof.Checkpoint;
import dev.annals.proof.Note;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A log as it was signed.
 *
 * @param epoch which log of the project
 * @param note the signed note
 * @param checkpoint what it says
 * @param cosigned the log when enough witnesses had last cosigned it; the same one or an older one, and null if they never had
 */
record SignedLog(
        UUID projectId,
        int epoch,
        String note,
        Checkpoint checkpoint,
        @Nullable SignedLog cosigned) {

    SignedLog(UUID projectId, int epoch, String note, Checkpoint checkpoint) {
        this(projectId, epoch, note, checkpoint, null);
    }

    /** The same with the cosignatures of an older one, or of itself. */
    SignedLog cosignedAs(SignedLog other) {
        return other.checkpoint.equals(checkpoint)
                ? new SignedLog(
                        projectId,
                        epoch,
                        Note.parse(note).and(Note.parse(other.note)).toString(),
                        checkpoint,
                        other)
                : new SignedLog(projectId, epoch, note, checkpoint, other);
    }

    /** How many records it has. */
    long size() {
        return checkpoint.size();
    }
}
