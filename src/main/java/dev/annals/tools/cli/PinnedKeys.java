package dev.annals.tools.cli;

import dev.annals.proof.VerifierKey;
import dev.annals.proof.WitnessPolicy;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The keys of a log and of witnesses that a reader trusts. */
@RegisterForReflection
final class PinnedKeys {

    @Option(
            names = "--vkey",
            paramLabel = "VKEY",
            description = "A key of the log, from vkeys of GET /v1/project-logs/log. Keep it from the first"
                    + " use on. While a key is replaced, name both.")
    List<String> vkeys = new ArrayList<>();

    @Option(
            names = "--witness",
            paramLabel = "VKEY",
            description = "The key of a witness that has to cosign the checkpoint; repeat it for several. The operator"
                    + " of the witness publishes it.")
    List<String> witnesses = new ArrayList<>();

    @Option(
            names = "--witnesses-needed",
            paramLabel = "COUNT",
            description = "The number of these witnesses that suffices. Default: all.")
    @Nullable
    Integer witnessesNeeded;

    /** @throws ClientFailure if a text is no key of a witness, or more witnesses are needed than named */
    WitnessPolicy policy() {
        try {
            return WitnessPolicy.of(witnesses, witnessesNeeded);
        } catch (IllegalArgumentException e) {
            throw new ClientFailure(
                    ClientFailure.USAGE, "--witness or --witnesses-needed cannot be used: " + e.getMessage() + ".");
        }
    }

    /** True if none of these options was given. */
    boolean isEmpty() {
        return vkeys.isEmpty() && witnesses.isEmpty() && witnessesNeeded == null;
    }

    /** @throws ClientFailure without a key, or if a text is no key */
    List<VerifierKey> keys() {
        if (vkeys.isEmpty()) {
            throw new ClientFailure(
                    ClientFailure.USAGE,
                    "Add --vkey=VKEY: without a key that you keep, nothing is proved. GET"
                            + " /v1/project-logs/log shows the key, and the operator of the service can confirm it.");
        }
        try {
            return vkeys.stream().map(VerifierKey::parse).toList();
        } catch (IllegalArgumentException e) {
            throw new ClientFailure(ClientFailure.USAGE, "--vkey cannot be used: " + e.getMessage() + ".");
        }
    }
}
