package dev.annals.proof;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.List;

/**
 * A self-contained proof that a record is in a log: C2SP tlog-proof. Its extra data is the {@link ProvedRecord}.
 *
 * @param record JSON
 * @param index of its leaf
 * @param path from the leaf's sibling upwards
 * @param checkpoint the signed note
 */
public record TlogProof(String record, long index, List<Hash> path, String checkpoint) {

    private static final String HEADER = "c2sp.org/tlog-proof@v1\n";
    private static final String EXTRA = "extra ";
    private static final String INDEX = "index ";

    /**
     * Reads the text form.
     *
     * @throws IllegalArgumentException if it is not such a proof, or has no record
     */
    public static TlogProof parse(String text) {
        int end = text.indexOf("\n\n");
        List<String> lines =
                end < 0 ? List.of() : text.substring(0, end).lines().toList();
        if (lines.size() < 3
                || !text.startsWith(HEADER)
                || !lines.get(1).startsWith(EXTRA)
                || !lines.get(2).matches(INDEX + "(0|[1-9][0-9]{0,17})")) {
            throw new IllegalArgumentException("this is no proof of a record: it begins with " + HEADER.strip()
                    + ", and has the lines extra and index");
        }
        List<Hash> path = new ArrayList<>();
        lines.subList(3, lines.size()).forEach(line -> path.add(Hash.parse(line)));
        String record =
                new String(Base64.getDecoder().decode(lines.get(1).substring(EXTRA.length())), StandardCharsets.UTF_8);
        return new TlogProof(
                record, Long.parseLong(lines.get(2).substring(INDEX.length())), path, text.substring(end + 2));
    }

    /**
     * Verifies the signature, the path, and the leaf of the record.
     *
     * @throws IllegalArgumentException if one of them fails
     */
    public ProvedRecord verify(Collection<VerifierKey> keys) {
        Checkpoint signed = Checkpoint.open(checkpoint, keys);
        ProvedRecord proved = ProvedRecord.parse(record);
        if (proved.record().sequenceId() != index + 1) {
            throw new IllegalArgumentException("the proof is about the leaf " + index
                    + ", and the record has the sequence id " + proved.record().sequenceId());
        }
        if (!MerkleTree.includes(proved.entry().leaf(), index, signed.size(), path, signed.root())) {
            throw new IllegalArgumentException("the log of " + signed.size() + " records does not have record "
                    + proved.record().id() + " as it stands here");
        }
        return proved;
    }

    @Override
    public String toString() {
        StringBuilder out = new StringBuilder(HEADER);
        out.append(EXTRA)
                .append(Base64.getEncoder().encodeToString(record.getBytes(StandardCharsets.UTF_8)))
                .append('\n');
        out.append(INDEX).append(index).append('\n');
        path.forEach(hash -> out.append(hash).append('\n'));
        return out.append('\n').append(checkpoint).toString();
    }
}
