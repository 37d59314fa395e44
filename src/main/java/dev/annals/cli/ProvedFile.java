package dev.annals.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.proof.CanonicalJson;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.CompactRange;
import dev.annals.proof.Hash;
import dev.annals.proof.PageProof;
import dev.annals.proof.ProvedRecord;
import dev.annals.proof.VerifierKey;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.List;
import java.util.SortedMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Verifies what {@link ProvedExport} has written, line by line: memory does not grow with the file. Each proof says which leaves
 * follow it, and leads to the root of the checkpoint by itself; so it is known of every single record whether it is the log's.
 */
final class ProvedFile {

    /** Those of 256 records with large messages, and of the proof of any number of records that a page may have. */
    private static final int MAX_LINE_BYTES = 1 << 24;

    private static final String PROOF = "{\"proof\":";

    private final LineReader lines;
    private final String note;
    private final Checkpoint signed;
    private final @Nullable Checkpoint older;
    private final Consumer<String> findings;
    private long line = 1;

    /** How many leaves were expected up to here; the proofs follow one another without a gap. */
    private long place;
    /** The leaves that the last proof has announced, from {@code leavesStart} on. */
    private List<Hash> leaves = List.of();

    private long leavesStart;
    private boolean leavesAreProved = true;
    /** Whether a record that the last proof is about was found to differ. */
    private boolean differs;

    private boolean olderIsProved;
    private long found;

    /**
     * Reads the beginning of a file.
     *
     * @param from the sequence id of its first record
     * @param older a checkpoint that the file's has to continue, if there is one
     * @param findings takes a sentence for each thing that is not as it should be
     * @throws IllegalArgumentException if this is no such file, or no key has signed it
     */
    ProvedFile(
            InputStream in,
            Collection<VerifierKey> keys,
            long from,
            @Nullable Checkpoint older,
            Consumer<String> findings)
            throws IOException {
        this.lines = new LineReader(in, MAX_LINE_BYTES);
        this.findings = findings;
        this.note = header(lines.next());
        this.signed = Checkpoint.open(note, keys);
        this.place = from - 1;
        this.leavesStart = place;
        this.older = older;
        this.olderIsProved = older == null || older.size() == 0;
        if (older != null && !older.origin().equals(signed.origin())) {
            throw new IllegalArgumentException("the older checkpoint is that of the log " + older.origin()
                    + ", and the file's that of " + signed.origin());
        }
        if (older != null && older.size() > 0 && older.size() < place) {
            throw new IllegalArgumentException("the older checkpoint is about " + older.size()
                    + " records, and the file has those from " + from + " on");
        }
    }

    private static String header(byte @Nullable [] first) {
        try {
            SortedMap<String, String> members =
                    CanonicalJson.members(text(first == null ? LineReader.TOO_LONG : first));
            if (CanonicalJson.string(members.getOrDefault("annals", "")).equals(ProvedExport.FORMAT)) {
                return CanonicalJson.string(members.getOrDefault("checkpoint", ""));
            }
        } catch (IllegalArgumentException e) {
            // not what this program has written
        }
        throw new IllegalArgumentException("it does not begin as annals export --proof writes it");
    }

    private static String text(byte[] utf8) {
        return new String(utf8, StandardCharsets.UTF_8);
    }

    /** The signed note. */
    String note() {
        return note;
    }

    /** What the log has signed. */
    Checkpoint signed() {
        return signed;
    }

    /**
     * Reads the rest.
     *
     * @return how many things are not as they should be
     */
    long verify() throws IOException {
        if (older != null && older.size() > signed.size()) {
            find("the log of the file has " + signed.size() + " records, and had " + older.size()
                    + " before: the file is older, or the end of the log was lost");
            olderIsProved = true;
        }
        for (byte[] next = lines.next(); next != null; next = lines.next()) {
            line++;
            String text = text(next);
            if (next == LineReader.TOO_LONG) {
                find("line " + line + " is longer than any record or proof");
            } else if (text.startsWith(PROOF)) {
                end();
                begin(text);
            } else {
                record(text);
            }
        }
        end();
        if (place > signed.size()) {
            find("the file should go on behind record " + place + ", and the log has " + signed.size());
        } else if (place < signed.size()) {
            find("the file ends with record " + place + ", and the log has " + signed.size());
        }
        if (signed.size() == 0 && !signed.root().equals(Hash.EMPTY_TREE)) {
            find("the checkpoint is about no record, and has the root of some");
        }
        if (!olderIsProved && found == 0) {
            find("the older checkpoint of " + (older == null ? 0 : older.size()) + " records cannot be compared");
        }
        return found;
    }

    private void find(String finding) {
        found++;
        findings.accept(finding);
    }

    private void begin(String text) {
        try {
            JsonNode json = Connection.JSON.readTree(text).path("proof");
            PageProof proof = ProvedPage.proof(json);
            List<Hash> announced = ProvedPage.hashes(json.path("leaves"));
            if (proof.start() != place) {
                find("line " + line + " begins with record " + (proof.start() + 1) + ", and " + (place + 1)
                        + " should follow");
            }
            if (proof.start() < 0
                    || proof.end() - proof.start() != announced.size()
                    || proof.end() > signed.size()
                    || announced.isEmpty()) {
                throw new IllegalArgumentException("its hashes are not those of records " + (proof.start() + 1) + " to "
                        + proof.end() + " of " + signed.size());
            }
            leaves = announced;
            leavesStart = proof.start();
            place = proof.start();
            leavesAreProved = isProved(proof, announced);
        } catch (JsonProcessingException | IllegalArgumentException e) {
            find("the proof in line " + line + " cannot be read: "
                    + (e instanceof JsonProcessingException json ? json.getOriginalMessage() : e.getMessage()));
        }
    }

    private boolean isProved(PageProof proof, List<Hash> announced) {
        CompactRange tree = CompactRange.of(0, proof.start(), proof.left());
        Hash then = older != null && older.size() == proof.start() ? tree.root() : null;
        for (Hash leaf : announced) {
            tree.append(leaf);
            if (older != null && older.size() == tree.end()) {
                then = tree.root();
            }
        }
        tree.append(CompactRange.of(proof.end(), signed.size(), proof.right()));
        boolean proved = tree.root().equals(signed.root());
        if (proved && older != null && then != null) {
            if (!olderIsProved && !then.equals(older.root())) {
                find("the log of " + signed.size() + " records does not continue that of " + older.size()
                        + ": one of its first " + older.size() + " records was changed, removed or inserted");
            }
            olderIsProved = true;
        }
        return proved;
    }

    /** Looks whether all announced records have come. */
    private void end() {
        long end = leavesStart + leaves.size();
        if (place < end) {
            find(
                    place + 1 == end
                            ? "record " + end + " is missing"
                            : "records " + (place + 1) + " to " + end + " are missing");
        } else if (!leavesAreProved && !differs) {
            find("records " + (leavesStart + 1) + " to " + end + " are not those of the log: at least one of them was"
                    + " changed, together with its hash");
        } else if (!leavesAreProved) {
            find("the hashes of records " + (leavesStart + 1) + " to " + end + " are not those of the log either");
        }
        place = Math.max(place, end);
        leaves = List.of();
        leavesStart = place;
        leavesAreProved = true;
        differs = false;
    }

    private void record(String text) {
        ProvedRecord proved;
        try {
            proved = ProvedRecord.parse(text);
        } catch (IllegalArgumentException e) {
            find("line " + line + ", where record " + (place + 1) + " should be, is no record of the log: "
                    + e.getMessage());
            place = Math.min(place + 1, leavesStart + leaves.size());
            differs = true;
            return;
        }
        String named = "record " + proved.record().id() + " with the sequence id "
                + proved.record().sequenceId();
        long index = proved.record().sequenceId() - 1;
        if (index < place || index >= leavesStart + leaves.size()) {
            find(named + " in line " + line + " is not where it belongs, or is one too many");
            differs = true;
            return;
        }
        if (index > place) {
            find(
                    index == place + 1
                            ? "record " + index + " is missing"
                            : "records " + (place + 1) + " to " + index + " are missing");
            differs = true;
        }
        place = index + 1;
        if (!proved.entry().leaf().equals(leaves.get((int) (index - leavesStart)))) {
            find(named + " in line " + line + " is not the log's: it was changed");
            differs = true;
        }
    }
}
