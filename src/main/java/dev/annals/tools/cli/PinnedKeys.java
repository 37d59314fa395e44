package dev.annals.tools.cli;

import dev.annals.proof.VerifierKey;
import dev.annals.proof.WitnessPolicy;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The keys of a log that a reader trusts, which came another way than what is verified with them. */
@RegisterForReflection
final class PinnedKeys {

    @Option(
            names = "--vkey",
            paramLabel = "VKEY",
            description = "A key of the log, as GET /v1/project-logs/log shows it among vkeys: keep it from the first"
                    + " time on. While a key is replaced, give both.")
    List<String> vkeys = new ArrayList<>();

    @Option(
            names = "--witness",
            paramLabel = "VKEY",
            description =
                    "The key of a witness that has to have cosigned the checkpoint; repeat it for several. Whoever"
                            + " runs the witness gives it to you.")
    List<String> witnesses = new ArrayList<>();

    @Option(
            names = "--witnesses-needed",
            paramLabel = "COUNT",
            description = "How many of these witnesses are enough. Default: all.")
    @Nullable
    Integer witnessesNeeded;

    /** @throws ClientFailure if one is no key of a witness, or more are needed than there are */
    WitnessPolicy policy() {
        try {
            return WitnessPolicy.of(witnesses, witnessesNeeded);
        } catch (IllegalArgumentException e) {
            throw new ClientFailure(
                    ClientFailure.USAGE, "--witness or --witnesses-needed cannot be used: " + e.getMessage() + ".");
        }
    }

    /** Whether any of these options was given. */
    boolean isEmpty() {
        return vkeys.isEmpty() && witnesses.isEmpty() && witnessesNeeded == null;
    }

    /** @throws ClientFailure if there is none, or one is no key */
    List<VerifierKey> keys() {
        if (vkeys.isEmpty()) {
            throw new ClientFailure(
                    ClientFailure.USAGE,
                    "Add --vkey=VKEY: without a key that you keep, nothing is proved. Your copy of it comes from GET"
                            + " /v1/project-logs/log, and whoever runs the service can confirm it.");
        }
        try {
            return vkeys.stream().map(VerifierKey::parse).toList();
        } catch (IllegalArgumentException e) {
            throw new ClientFailure(ClientFailure.USAGE, "--vkey cannot be used: " + e.getMessage() + ".");
        }
    }
}
