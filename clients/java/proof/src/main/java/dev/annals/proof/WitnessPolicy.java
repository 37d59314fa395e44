package dev.annals.proof;

import jakarta.annotation.Nullable;
import java.util.Collection;
import java.util.List;

/**
 * The witnesses that a reader trusts, and how many of them must have cosigned a checkpoint.
 *
 * @param witnesses trusted not to cosign two histories of a log
 * @param needed the number of cosignatures
 */
public record WitnessPolicy(List<WitnessKey> witnesses, int needed) {

    /** Trusts the log's key alone. */
    public static final WitnessPolicy NONE = new WitnessPolicy(List.of(), 0);

    /**
     * Reads a policy.
     *
     * @param vkeys of the witnesses
     * @param needed null for all of them
     * @throws IllegalArgumentException if a key is not a witness's or is repeated, or if more are needed than named
     */
    public static WitnessPolicy of(Collection<String> vkeys, @Nullable Integer needed) {
        List<WitnessKey> witnesses =
                vkeys.stream().map(WitnessKey::parse).distinct().toList();
        if (witnesses.size() < vkeys.size()) {
            throw new IllegalArgumentException("a witness counts once, and one is named twice");
        }
        int count = needed == null ? witnesses.size() : needed;
        if (count < 0 || count > witnesses.size()) {
            throw new IllegalArgumentException(count + " witnesses are needed, and " + witnesses.size() + " are named");
        }
        return new WitnessPolicy(witnesses, count);
    }

    /**
     * Returns the witnesses that have cosigned a note.
     *
     * @throws IllegalArgumentException if a cosignature is wrong
     */
    public List<WitnessKey> cosigners(Note note) {
        return witnesses.stream()
                .filter(witness -> witness.cosigned(note).isPresent())
                .toList();
    }

    /**
     * Requires enough cosignatures.
     *
     * @param note a signed note
     * @return the number of cosignatures, as the end of a sentence; empty if the policy names no witness
     * @throws IllegalArgumentException if too few have, or a cosignature does not hold
     */
    public String require(String note) {
        if (witnesses.isEmpty()) {
            return "";
        }
        List<WitnessKey> cosigners = cosigners(Note.parse(note));
        String count = "cosigned by " + cosigners.size() + " of " + witnesses.size()
                + (witnesses.size() == 1 ? " witness" : " witnesses");
        if (cosigners.size() < needed) {
            throw new IllegalArgumentException("the checkpoint is " + count + ", and " + needed + " are needed");
        }
        return ", " + count
                + (cosigners.isEmpty()
                        ? ""
                        : " ("
                                + String.join(
                                        ", ",
                                        cosigners.stream().map(WitnessKey::name).toList())
                                + ")");
    }
}
