package dev.annals.proof;

import jakarta.annotation.Nullable;
import java.util.Collection;
import java.util.List;

/**
 * How many of which witnesses have to have cosigned a checkpoint for a reader to trust it.
 *
 * @param witnesses whom the reader trusts not to have cosigned two histories of a log
 * @param needed how many of them; at most all
 */
public record WitnessPolicy(List<WitnessKey> witnesses, int needed) {

    /** Who trusts the log's key alone. */
    public static final WitnessPolicy NONE = new WitnessPolicy(List.of(), 0);

    /**
     * Reads a policy.
     *
     * @param vkeys of the witnesses
     * @param needed null for all of them
     * @throws IllegalArgumentException if one is no key of a witness or is there twice, or more are needed than there are
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
     * Who has cosigned a note.
     *
     * @throws IllegalArgumentException if a cosignature does not hold
     */
    public List<WitnessKey> cosigners(Note note) {
        return witnesses.stream()
                .filter(witness -> witness.cosigned(note).isPresent())
                .toList();
    }

    /**
     * Requires that enough have cosigned.
     *
     * @param note a signed note
     * @return how many have, as the end of a sentence; empty for a reader who names no witness
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
