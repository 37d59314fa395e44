package dev.annals.log;

import dev.annals.proof.Checkpoint;
import java.util.UUID;

/**
 * A log as it was signed.
 *
 * @param epoch which log of the project
 * @param note the signed note
 * @param checkpoint what it says
 */
record SignedLog(UUID projectId, int epoch, String note, Checkpoint checkpoint) {

    /** How many records it has. */
    long size() {
        return checkpoint.size();
    }
}
