package dev.annals.proof;

import java.util.Collection;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The keys of a log that a reader trusts: those of the newest epoch it knows, and perhaps those of earlier epochs, whose checkpoints the
 * newest epoch must continue.
 *
 * @param epoch the newest, from 1
 * @param known the keys of all epochs
 */
public record EpochKeys(int epoch, List<VerifierKey> newest, List<VerifierKey> known) {

    private static final Pattern EPOCH = Pattern.compile("/log/([1-9][0-9]{0,8})$");

    /**
     * Sorts keys by epoch.
     *
     * @throws IllegalArgumentException if they do not belong to one log, whose name ends with {@code /log/} and the epoch
     */
    public static EpochKeys of(Collection<VerifierKey> keys) {
        int epoch = keys.stream().mapToInt(EpochKeys::epoch).max().orElse(0);
        if (keys.stream().anyMatch(key -> epoch(key) == 0)
                || keys.stream()
                                .map(key -> EPOCH.matcher(key.name()).replaceFirst(""))
                                .distinct()
                                .count()
                        != 1) {
            throw new IllegalArgumentException(
                    "A log has one name, which ends with /log/ and a number: these are not its keys.");
        }
        return new EpochKeys(
                epoch, keys.stream().filter(key -> epoch(key) == epoch).toList(), List.copyOf(keys));
    }

    private static int epoch(VerifierKey key) {
        Matcher epoch = EPOCH.matcher(key.name());
        return epoch.find() ? Integer.parseInt(epoch.group(1)) : 0;
    }
}
