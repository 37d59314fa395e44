package dev.annals.client;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.proof.CanonicalJson;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.CompactRange;
import dev.annals.proof.Hash;
import dev.annals.proof.MerkleTree;
import dev.annals.proof.PageProof;
import dev.annals.proof.ProvedRecord;
import dev.annals.proof.VerifierKey;
import java.io.File;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** Runs the verifier against the vectors of docs/leaf-format.md, whose file is named in ANNALS_VECTORS. */
public class Vectors {
    private static JsonNode given;

    public static void main(String[] arguments) throws Exception {
        given = new ObjectMapper().readTree(new File(System.getenv("ANNALS_VECTORS")));
        json();
        entries();
        trees();
        notesAndPages();
        System.out.println("all vectors hold");
    }

    private static void json() {
        for (JsonNode vector : given.get("canonical")) {
            require(CanonicalJson.of(text(vector, "json")).equals(text(vector, "canonical")), vector);
            require(CanonicalJson.of(text(vector, "canonical")).equals(text(vector, "canonical")), vector);
        }
        given.get("refused").forEach(json -> refused(() -> CanonicalJson.of(json.textValue()), ""));
        refused(() -> CanonicalJson.of("[".repeat(202) + "]".repeat(202)), "");
    }

    private static void entries() {
        for (JsonNode vector : given.get("records")) {
            require(entry(seeded(vector)).equals(hash(vector.get("entry"))), vector);
        }
        JsonNode redacted = given.get("redacted");
        String record = text(redacted, "record");
        require(entry(record).equals(hash(redacted.get("entry"))), redacted);
        String digest = "\"Tf1tXVhxDt4G3x98ug30iEA3M7NAKE66fb-8fUY2aDw\", ";
        refused(() -> entry(record.replace("\"salts\": {", "\"salts\": {\"message\": " + digest)), "salts");
        refused(() -> entry(record.replace("\"redacted\": {", "\"redacted\": {\"action\": " + digest)), "action");
        refused(() -> entry(record.replace("\"redacted\": {", "\"redacted\": {\"colour\": " + digest)), "colour");
        refused(() -> entry(record.replace("HLt3w\"", "HLt3x\"")), "base64url");
        String first = seeded(given.get("records").get(0)).substring(1);
        refused(() -> entry("{\"colour\": 1, " + first), "colour");
        refused(() -> entry("{\"actor\": {\"role\": \"x\"}, " + first), "role");
        refused(() -> entry("{\"salts\": {}, " + first), "seed");
    }

    private static void trees() {
        List<Hash> leaves = new ArrayList<>();
        given.get("records").forEach(vector -> leaves.add(hash(vector.get("leaf"))));
        for (JsonNode vector : given.get("roots")) {
            int size = vector.get("size").intValue();
            CompactRange range = CompactRange.at(0);
            leaves.subList(0, size).forEach(range::append);
            require(range.root().equals(hash(vector.get("root"))), vector);
        }
        for (JsonNode vector : given.get("consistency")) {
            int from = vector.get("from").intValue();
            int to = vector.get("to").intValue();
            Hash before = root(from);
            Hash after = root(to);
            List<Hash> path = hashes(vector.get("path"));
            require(MerkleTree.isConsistent(from, before, to, after, path), vector);
            require(!MerkleTree.isConsistent(from, leaves.get(12), to, after, path), vector);
            require(!MerkleTree.isConsistent(from, before, to, leaves.get(12), path), vector);
            require(!MerkleTree.isConsistent(to, after, from, before, path), vector);
            path.add(leaves.get(0));
            require(!MerkleTree.isConsistent(from, before, to, after, path), vector);
        }
    }

    private static void notesAndPages() {
        JsonNode log = given.get("log");
        List<VerifierKey> keys = List.of(VerifierKey.parse(text(log, "vkey")));
        String note = text(log, "checkpoint");
        Checkpoint tree = Checkpoint.open(note, keys);
        refused(() -> VerifierKey.parse(text(log, "vkey").replace("+d3", "+d4")), "has the id");
        refused(() -> Checkpoint.open(note.replace("\n13\n", "\n14\n"), keys), "does not hold");
        refused(() -> Checkpoint.open(note.replace("log/1", "log/2"), keys), "no key is known");
        refused(() -> Checkpoint.open(note.replace("06SH", "07SH"), keys), "has signed");
        refused(() -> Checkpoint.open(note.substring(0, note.length() - 1), keys), "no signed note");

        List<String> records = new ArrayList<>();
        given.get("records").forEach(vector -> records.add(seeded(vector)));
        List<String> page = new ArrayList<>(records.subList(4, 9));
        require(verified(page, tree).size() == 5, "a page");
        refused(() -> verified(page.subList(1, 5), tree), "its place is");
        refused(() -> verified(page.subList(0, 4), tree), "hashes, and not");
        List<String> forged = new ArrayList<>(page);
        forged.set(2, page.get(2).replace("\"action\": \"", "\"action\": \"x"));
        refused(() -> verified(forged, tree), "are not those of the log");
        List<String> swapped = new ArrayList<>(page);
        swapped.set(0, page.get(1));
        swapped.set(1, page.get(0));
        refused(() -> verified(swapped, tree), "its place is");
    }

    private static List<ProvedRecord> verified(List<String> records, Checkpoint log) {
        JsonNode page = given.get("page");
        return new PageProof(4, 4 + records.size(), hashes(page.get("left")), hashes(page.get("right")))
                .verified(records, log);
    }

    private static Hash entry(String record) {
        return ProvedRecord.parse(record).entry();
    }

    private static Hash root(int size) {
        return hash(given.get("roots").get(size).get("root"));
    }

    private static String seeded(JsonNode vector) {
        String record = text(vector, "record");
        return record.substring(0, record.length() - 1) + ", \"seed\": \"" + text(vector, "seed") + "\"}";
    }

    private static List<Hash> hashes(JsonNode array) {
        List<Hash> hashes = new ArrayList<>();
        array.forEach(hash -> hashes.add(hash(hash)));
        return hashes;
    }

    private static String text(JsonNode of, String name) {
        return of.get(name).textValue();
    }

    private static Hash hash(JsonNode hex) {
        return Hash.at(HexFormat.of().parseHex(hex.textValue()), 0);
    }

    private static void refused(Runnable reading, String why) {
        try {
            reading.run();
        } catch (IllegalArgumentException e) {
            require(String.valueOf(e.getMessage()).contains(why), e);
            return;
        }
        throw new AssertionError("accepted what should be refused: " + why);
    }

    private static void require(boolean holds, Object vector) {
        if (!holds) {
            throw new AssertionError(vector.toString());
        }
    }
}
