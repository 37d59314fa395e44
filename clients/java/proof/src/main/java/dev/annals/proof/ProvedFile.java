package dev.annals.proof;

import jakarta.annotation.Nullable;
import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.List;
import java.util.SortedMap;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/**
 * Verifies an export or an archive, line by line. Each proof in the file announces the leaves that follow it, and leads to the root of the
 * checkpoint by itself. Memory grows with the number of redacted records only.
 *
 * <p>An export reaches to the end of the log. An archive has the records that its first line names.
 */
public final class ProvedFile {

    /** In the first line of an export. */
    public static final String EXPORT = "proved-export/1";

    /** In the first line of an archive. */
    public static final String ARCHIVE = "proved-archive/1";

    /** Enough for a record with the largest message, and for the proof of the largest page. */
    private static final int MAX_LINE_BYTES = 1 << 24;

    private static final String PROOF = "{\"proof\":";

    private static final int GZIP_1 = 0x1f;
    private static final int GZIP_2 = 0x8b;

    private final LineReader lines;
    private final Header header;
    private final Checkpoint signed;
    private final long last;

    private final @Nullable Checkpoint older;
    private final Consumer<String> findings;
    private long line = 1;

    /** The end of the leaves that proofs have announced, without a gap. */
    private long place;
    /** Announced by the last proof, from {@code leavesStart}. */
    private List<Hash> leaves = List.of();

    private long leavesStart;
    private boolean leavesAreProved = true;
    /** Whether a record under the last proof differs. */
    private boolean differs;

    private final RedactedValues redacted;

    private boolean olderIsProved;
    private long found;
    private BiConsumer<String, ProvedRecord> records = (text, record) -> {};
    private @Nullable PageProof first;
    private @Nullable CompactRange tree;
    private List<Hash> right = List.of();

    /**
     * The first line of a file.
     *
     * @param project its name, which is not proved; null for an export
     * @param first 1 for an export
     * @param last null for an export
     */
    private record Header(
            String note,
            @Nullable String project,
            long first,
            @Nullable Long last) {}

    /** Unpacks gzip; passes other bytes through. */
    public static InputStream unpacked(InputStream in) throws IOException {
        BufferedInputStream buffered = new BufferedInputStream(in, 65_536);
        buffered.mark(2);
        boolean packed = buffered.read() == GZIP_1 && buffered.read() == GZIP_2;
        buffered.reset();
        return packed ? new GZIPInputStream(buffered, 65_536) : buffered;
    }

    /**
     * Reads the first lines of a file.
     *
     * @param from the sequence id that the first record must have; 0: the one that an archive names, and 1 for an export
     * @param older a checkpoint that the file's checkpoint must continue; null for none
     * @param findings receives a sentence for each error
     * @throws IllegalArgumentException if it is not such a file, or no key has signed it
     */
    public ProvedFile(
            InputStream in,
            Collection<VerifierKey> keys,
            long from,
            @Nullable Checkpoint older,
            Consumer<String> findings)
            throws IOException {
        this.lines = new LineReader(in, MAX_LINE_BYTES);
        this.findings = findings;
        this.header = header(lines.next());
        this.signed = Checkpoint.open(header.note, keys);
        this.last = header.last == null ? signed.size() : header.last;
        this.place = (from == 0 ? header.first : from) - 1;
        this.leavesStart = place;
        this.redacted = new RedactedValues(place + 1);
        if (last > signed.size()) {
            throw new IllegalArgumentException(
                    "it should have the records up to " + last + ", and its log has " + signed.size());
        }
        this.older = older;
        this.olderIsProved = older == null || older.size() == 0;
        if (older != null && !older.origin().equals(signed.origin())) {
            throw new IllegalArgumentException("the older checkpoint is that of the log " + older.origin()
                    + ", and the file's that of " + signed.origin());
        }
        if (older != null && older.size() > 0 && older.size() < place) {
            throw new IllegalArgumentException("the older checkpoint is about " + older.size()
                    + " records, and the file has those from " + (place + 1) + " on");
        }
    }

    private static Header header(@Nullable byte[] first) {
        try {
            SortedMap<String, String> members =
                    CanonicalJson.members(text(first == null ? LineReader.TOO_LONG : first));
            String format = CanonicalJson.string(members.getOrDefault("annals", ""));
            String note = CanonicalJson.string(members.getOrDefault("checkpoint", ""));
            if (format.equals(EXPORT)) {
                return new Header(note, null, 1, null);
            }
            if (format.equals(ARCHIVE)) {
                long begins = CanonicalJson.natural(members.get("first_sequence_id"));
                long ends = CanonicalJson.natural(members.get("last_sequence_id"));
                if (begins >= 1 && ends >= begins) {
                    return new Header(note, CanonicalJson.string(members.getOrDefault("project", "")), begins, ends);
                }
            }
        } catch (IllegalArgumentException e) {
            // not a file of this program
        }
        throw new IllegalArgumentException("it does not begin as annals export --proof or annals archive writes it");
    }

    private static String text(byte[] utf8) {
        return new String(utf8, StandardCharsets.UTF_8);
    }

    public String note() {
        return header.note;
    }

    public Checkpoint signed() {
        return signed;
    }

    public boolean isArchive() {
        return header.last != null;
    }

    /** The name of an archive's project, which is not proved; empty for an export. */
    public String project() {
        return header.project == null ? "" : header.project;
    }

    /** The first sequence id that an archive names; 1 for an export. */
    public long first() {
        return header.first;
    }

    /** The last sequence id that the file must have. */
    public long last() {
        return last;
    }

    /** The number of missing values, once the records are verified. */
    public long redacted() {
        return redacted.values();
    }

    /**
     * The number of missing values that no event in the file names, once the records are verified. Only in an archive that ends before its
     * log may it exceed 0, because the event may follow. In a file that reaches the end, each one is a finding.
     */
    public long unnamed() {
        return redacted.unnamed();
    }

    /** The log before the file, once the records are verified. */
    public CompactRange before() {
        return first == null ? CompactRange.at(0) : CompactRange.of(0, first.start(), first.left());
    }

    /** The log up to the end of the file, once the records are verified. */
    public CompactRange through() {
        return tree == null ? before() : tree;
    }

    /** The log after the file, once the records are verified. */
    public CompactRange behind() {
        return CompactRange.of(through().end(), signed.size(), right);
    }

    /**
     * Verifies the rest of the file, and passes on each record whose hash the proof before it announces. The proofs are verified at the
     * end: discard all records if something was found.
     *
     * @param taker receives the text of each record, and the record
     * @return the number of errors
     */
    public long verify(BiConsumer<String, ProvedRecord> taker) throws IOException {
        records = taker;
        return verify();
    }

    /**
     * Verifies the rest of the file.
     *
     * @return the number of errors
     */
    public long verify() throws IOException {
        if (older != null && older.size() > signed.size()) {
            find("the log of the file has " + signed.size() + " records, and had " + older.size()
                    + " before: the file is older, or the end of the log was lost");
            olderIsProved = true;
        }
        for (byte[] next = next(); next != null; next = next()) {
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
        if (place > last) {
            find("the file should go on behind record " + place + ", and " + owner() + " has " + last);
        } else if (place < last) {
            find("the file ends with record " + place + ", and " + owner() + " has " + last);
        }
        if (last == signed.size()) {
            redacted.findUnnamed(this::find);
        }
        if (signed.size() == 0 && !signed.root().equals(Hash.EMPTY_TREE)) {
            find("the checkpoint is about no record, and has the root of some");
        }
        if (!olderIsProved && found == 0) {
            find("the older checkpoint of " + (older == null ? 0 : older.size()) + " records cannot be compared");
        }
        return found;
    }

    private String owner() {
        return isArchive() ? "its first line" : "the log";
    }

    private @Nullable byte[] next() throws IOException {
        try {
            return lines.next();
        } catch (ZipException | EOFException e) {
            find("the file is damaged or cut off behind line " + line + ": " + e.getMessage());
            return null;
        }
    }

    private void find(String finding) {
        found++;
        findings.accept(finding);
    }

    private void begin(String text) {
        try {
            SortedMap<String, String> json =
                    CanonicalJson.members(CanonicalJson.members(text).getOrDefault("proof", ""));
            PageProof proof = PageProof.of(json);
            List<Hash> announced = Hash.list(json.get("leaves"));
            if (proof.start() != place) {
                find("line " + line + " begins with record " + (proof.start() + 1) + ", and " + (place + 1)
                        + " should follow");
            }
            if (proof.end() - proof.start() != announced.size() || proof.end() > last || announced.isEmpty()) {
                throw new IllegalArgumentException("its hashes are not those of records " + (proof.start() + 1) + " to "
                        + proof.end() + " of " + last);
            }
            leaves = announced;
            leavesStart = proof.start();
            place = proof.start();
            leavesAreProved = isProved(proof, announced);
        } catch (IllegalArgumentException e) {
            find("the proof in line " + line + " cannot be read: " + e.getMessage());
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
        if (first == null) {
            first = proof;
        }
        this.tree = CompactRange.of(0, tree.end(), tree.hashes());
        right = proof.right();
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

    /** All announced records must have been read. */
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
            return;
        }
        redacted.add(proved, this::find);
        records.accept(text, proved);
    }
}
