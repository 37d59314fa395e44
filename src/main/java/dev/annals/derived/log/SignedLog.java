package dev.annals.derived.log;

import dev.annals.proof.Checkpoint;
import dev.annals.proof.Note;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A signed checkpoint of a log.
 *
 * @param cosigned the newest checkpoint that enough witnesses have cosigned, this one or an older one; null if there is none
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

    /** Adds cosignatures, of this checkpoint or of an older one. */
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

    long size() {
        return checkpoint.size();
    }
}
