package dev.annals.derived.log;

import dev.annals.proof.WitnessKey;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * A witness that cosigns checkpoints, as the settings name it.
 *
 * @param key verifies its cosignatures
 */
record Witness(WitnessKey key, URI url) {

    private static final int MOST = 16;
    private static final Pattern LOOPBACK = Pattern.compile("localhost|127(\\.[0-9]{1,3}){3}|\\[::1]");

    /**
     * Reads the setting.
     *
     * @throws IllegalArgumentException if the setting names too many witnesses, one of them twice, or an unusable
     *     one; the message shows no URL, which may be secret
     */
    static List<Witness> of(LogConfig config) {
        List<Witness> witnesses = new ArrayList<>();
        Set<String> names = new HashSet<>();
        for (String text : config.witnesses().orElse(List.of())) {
            Witness witness = parse(text);
            if (!names.add(witness.key.name())) {
                throw unusable("the witness " + witness.key.name() + " is named twice");
            }
            witnesses.add(witness);
        }
        if (witnesses.size() > MOST) {
            throw unusable("there are more than " + MOST);
        }
        if (config.witnessesNeeded() > witnesses.size()) {
            throw new IllegalArgumentException("ANNALS_LOG_WITNESSES_NEEDED is " + config.witnessesNeeded() + ", and "
                    + witnesses.size() + " witnesses are named in ANNALS_LOG_WITNESSES.");
        }
        return witnesses;
    }

    private static Witness parse(String text) {
        String[] parts = text.strip().split(" +", 2);
        WitnessKey key;
        try {
            key = WitnessKey.parse(parts[0]);
        } catch (IllegalArgumentException e) {
            throw unusable("a key cannot be used (" + e.getMessage() + ")");
        }
        URI url = URI.create(parts[1].replaceAll("/+$", "") + "/add-checkpoint");
        boolean isHere =
                url.getHost() != null && LOOPBACK.matcher(url.getHost()).matches();
        if (url.getHost() == null
                || url.getUserInfo() != null
                || url.getQuery() != null
                || url.getFragment() != null
                || !(url.getScheme().equals("https") || isHere)) {
            throw unusable("the URL of " + key.name()
                    + " has to begin with https:// or be on this machine's loopback, without user, query and fragment");
        }
        return new Witness(key, url);
    }

    private static IllegalArgumentException unusable(String why) {
        return new IllegalArgumentException("ANNALS_LOG_WITNESSES cannot be used: " + why + ".");
    }

    String name() {
        return key.name();
    }

    String vkey() {
        return key.toString();
    }
}
