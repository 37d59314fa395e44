package dev.annals.tools.cli;

import dev.annals.proof.Checkpoint;
import dev.annals.proof.Note;
import dev.annals.proof.ProvedFile;
import dev.annals.proof.ProvedRecord;
import dev.annals.proof.RedactedValues;
import dev.annals.proof.RedactionEvent;
import dev.annals.proof.TlogProof;
import dev.annals.proof.VerifierKey;
import dev.annals.proof.WitnessPolicy;
import dev.annals.tools.bucket.Bucket;
import dev.annals.tools.bucket.BucketAccess;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Verifies a file with a key: without the service, its database, or a network. */
@Command(
        name = "check",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Verifies a file of annals export --proof or annals archive, or the proof of one record, offline: each record is"
                        + " unchanged and in its place, and none is missing.",
        exitCodeListHeading = "Exit codes:%n",
        exitCodeList = {
            "0:everything is as the log has signed it",
            "1:something is not; each finding is a line",
            "2:nothing was checked",
            "8:everything is as the log has signed it, but values are redacted, and the file ends before the record of it"
        })
@RegisterForReflection
public final class CheckCommand extends ClientCommand {

    private static final String TLOG_PROOF = "c2sp.org/tlog-proof@";
    private static final int MAX_PROOF_BYTES = 1 << 24;
    private static final int MAX_FINDINGS = 1_000_000;

    @Parameters(
            paramLabel = "FILE",
            description = "The file; - for standard input; s3+https://host/bucket/key for an object.")
    String file = "-";

    @Mixin
    BucketAccess access = new BucketAccess();

    @Mixin
    PinnedKeys pinned = new PinnedKeys();

    @Option(
            names = "--from",
            paramLabel = "ID",
            description =
                    "The sequence id of the first record, for an export with --cursor. Default: 1, or the first record that"
                            + " an archive names.")
    @Nullable
    Long from;

    @Option(
            names = "--against",
            paramLabel = "CHECKPOINT",
            description = "A file with an older checkpoint of this log, which the checkpoint in FILE has to continue.")
    @Nullable
    Path against;

    @Option(names = "--findings", paramLabel = "COUNT", description = "The number of findings to print. Default: 100.")
    int findings = 100;

    private final OutputStream output = Terminal.output();
    private int printed;

    @Override
    int run() throws IOException {
        if (findings < 1 || findings > MAX_FINDINGS) {
            throw new ClientFailure(ClientFailure.USAGE, "--findings has to be from 1 to " + MAX_FINDINGS + ".");
        }
        if (from != null && from < 1) {
            throw new ClientFailure(ClientFailure.USAGE, "--from is a sequence id: 1 or more.");
        }
        List<VerifierKey> keys = pinned.keys();
        WitnessPolicy policy = pinned.policy();
        try (Bucket bucket = bucket();
                InputStream in = new BufferedInputStream(ProvedFile.unpacked(open(bucket)), 65_536)) {
            in.mark(TLOG_PROOF.length());
            boolean single = new String(in.readNBytes(TLOG_PROOF.length()), StandardCharsets.UTF_8).equals(TLOG_PROOF);
            in.reset();
            return single ? checkProof(in, keys, policy) : checkExport(in, keys, policy);
        } catch (NoSuchFileException e) {
            throw unchecked("there is no file " + e.getFile());
        } catch (IOException e) {
            throw unchecked(e.getMessage() == null ? e.toString() : e.getMessage());
        }
    }

    private @Nullable Bucket bucket() {
        try {
            // Other files are checked without the classes of the store.
            return file.startsWith("s3+") ? access.open(file) : null;
        } catch (IllegalArgumentException e) {
            throw unchecked(String.valueOf(e.getMessage()));
        }
    }

    private InputStream open(@Nullable Bucket bucket) throws IOException {
        if (bucket == null) {
            return file.equals("-") ? System.in : Files.newInputStream(Path.of(file));
        }
        return bucket.read(bucket.prefix().replaceAll("/$", ""));
    }

    private ClientFailure unchecked(String why) {
        return new ClientFailure(ClientFailure.USAGE, "Nothing was checked: " + why + ".");
    }

    private int checkExport(InputStream in, List<VerifierKey> keys, WitnessPolicy policy) throws IOException {
        ProvedFile proved;
        try {
            proved = new ProvedFile(in, keys, from == null ? 0 : from, older(keys), this::find);
        } catch (IllegalArgumentException e) {
            throw unchecked(e.getMessage() + " (" + file + ")");
        }
        long found = proved.verify();
        String cosigned = "";
        try {
            cosigned = policy.require(proved.note());
        } catch (IllegalArgumentException e) {
            found++;
            find(e.getMessage() == null ? e.toString() : e.getMessage());
        }
        Checkpoint signed = proved.signed();
        String log = "the log " + signed.origin() + " of " + signed.size() + " records";
        if (found > 0) {
            say("Not verified: " + found + (found == 1 ? " finding" : " findings") + " against " + log + ".");
            return ClientFailure.FAILED;
        }
        long begins = from == null ? proved.first() : from;
        say((proved.unnamed() == 0 ? "Verified: " : "Verified in part: ")
                + (begins > proved.last() ? "no record" : "records " + begins + " to " + proved.last())
                + (proved.isArchive() ? ", of " : ", all there are" + (begins == 1 ? "" : " from there on") + " in ")
                + log + cosigned + ". " + RedactedValues.count(proved.redacted())
                + unnamed(proved.unnamed()));
        return proved.unnamed() == 0 ? 0 : ClientFailure.UNNAMED;
    }

    /** A warning about redacted values without an annals.redact record in the file. */
    private static String unnamed(long values) {
        return values == 0
                ? ""
                : " For " + values + " of them, the file has no " + RedactionEvent.ACTION
                        + " record. Only later records of the log can show one. Until then, assume that the sender of the"
                        + " file removed these values.";
    }

    private @Nullable Checkpoint older(List<VerifierKey> keys) throws IOException {
        if (against == null) {
            return null;
        }
        if (Files.size(against) > Note.MAX_CHARACTERS) {
            throw new IllegalArgumentException(against + " is too long for a checkpoint");
        }
        try {
            return Checkpoint.open(Files.readString(against), keys);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(against + " is no checkpoint of this log: " + e.getMessage(), e);
        }
    }

    private int checkProof(InputStream in, List<VerifierKey> keys, WitnessPolicy policy) throws IOException {
        byte[] text = in.readNBytes(MAX_PROOF_BYTES + 1);
        if (text.length > MAX_PROOF_BYTES) {
            throw unchecked("the proof is longer than that of any record");
        }
        try {
            TlogProof proof = TlogProof.parse(new String(text, StandardCharsets.UTF_8));
            ProvedRecord proved = proof.verify(keys);
            String cosigned = policy.require(proof.checkpoint());
            int gone = proved.redacted().size();
            say((gone == 0 ? "Verified: record " : "Verified in part: record ")
                    + proved.record().id() + " with the sequence id "
                    + proved.record().sequenceId() + cosigned + ". " + RedactedValues.count(gone)
                    + unnamed(gone));
            return gone == 0 ? 0 : ClientFailure.UNNAMED;
        } catch (IllegalArgumentException e) {
            say("Not verified: " + e.getMessage() + ".");
            return ClientFailure.FAILED;
        }
    }

    private void find(String finding) {
        if (printed < findings) {
            say(finding);
        } else if (printed == findings) {
            say("and more; see --findings");
        }
        printed++;
    }

    // The content of a file is hostile text.
    private void say(String sentence) {
        try {
            output.write((Terminal.escaped(sentence) + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new ClientFailure(ClientFailure.FAILED, "Standard output cannot be written: " + e.getMessage());
        }
    }
}
