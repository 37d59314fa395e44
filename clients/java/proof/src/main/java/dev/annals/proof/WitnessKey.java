package dev.annals.proof;

import jakarta.annotation.Nullable;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.Arrays;
import java.util.Optional;

/**
 * The public key of a witness, {@code name+id+key} of type 4, as in C2SP tlog-cosignature. A witness cosigns checkpoints, with a time, of
 * logs that only grow.
 */
public final class WitnessKey {

    private final VerifierKey key;

    private WitnessKey(VerifierKey key) {
        this.key = key;
    }

    /**
     * Reads the text form.
     *
     * @throws IllegalArgumentException if it is not the text of an Ed25519 key of type 4
     */
    public static WitnessKey parse(String text) {
        return new WitnessKey(VerifierKey.parse(text, VerifierKey.COSIGNATURE));
    }

    public String name() {
        return key.name();
    }

    /**
     * The time at which this witness last cosigned a note.
     *
     * @return empty if it has not
     * @throws IllegalArgumentException if a line with its name and id is not its cosignature
     */
    public Optional<Instant> cosigned(Note note) {
        Instant last = null;
        for (String line : note.signatures()) {
            if (isOf(line)) {
                Instant time = time(note.text(), Note.signature(line));
                if (time == null) {
                    throw new IllegalArgumentException("the cosignature of " + name() + " does not hold");
                }
                last = last == null || time.isAfter(last) ? time : last;
            }
        }
        return Optional.ofNullable(last);
    }

    /** Compares the name and the id. */
    public boolean isOf(String line) {
        return Note.isOf(line, key);
    }

    private @Nullable Instant time(String text, byte[] cosignature) {
        if (cosignature.length < Long.BYTES) {
            return null;
        }
        long seconds = ByteBuffer.wrap(cosignature).getLong();
        byte[] signature = Arrays.copyOfRange(cosignature, Long.BYTES, cosignature.length);
        return seconds >= 0
                        && seconds <= Instant.MAX.getEpochSecond()
                        && key.verifies("cosignature/v1\ntime " + seconds + "\n" + text, signature)
                ? Instant.ofEpochSecond(seconds)
                : null;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof WitnessKey witness && key.equals(witness.key);
    }

    @Override
    public int hashCode() {
        return key.hashCode();
    }

    @Override
    public String toString() {
        return key.toString();
    }
}
