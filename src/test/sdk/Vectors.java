package dev.annals.client;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.stream.Collectors;

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
            require(ExactText.of(text(vector, "json")).equals(text(vector, "canonical")), vector);
            require(ExactText.of(text(vector, "canonical")).equals(text(vector, "canonical")), vector);
        }
        given.get("refused").forEach(json -> refused(() -> ExactText.of(json.textValue()), ""));
        refused(() -> ExactText.of("[".repeat(202) + "]".repeat(202)), "");
    }

    private static void entries() {
        for (JsonNode vector : given.get("records")) {
            require(hex(Proofs.Entry.of(seeded(vector)).hash).equals(text(vector, "entry")), vector);
        }
        JsonNode redacted = given.get("redacted");
        String record = text(redacted, "record");
        require(hex(Proofs.Entry.of(record).hash).equals(text(redacted, "entry")), redacted);
        String digest = "\"Tf1tXVhxDt4G3x98ug30iEA3M7NAKE66fb-8fUY2aDw\", ";
        refused(() -> Proofs.Entry.of(record.replace("\"salts\": {", "\"salts\": {\"message\": " + digest)), "salts");
        refused(() -> Proofs.Entry.of(record.replace("\"redacted\": {", "\"redacted\": {\"action\": " + digest)), "action");
        refused(() -> Proofs.Entry.of(record.replace("\"redacted\": {", "\"redacted\": {\"colour\": " + digest)), "colour");
        refused(() -> Proofs.Entry.of(record.replace("HLt3w\"", "HLt3x\"")), "base64url");
        String first = seeded(given.get("records").get(0)).substring(1);
        refused(() -> Proofs.Entry.of("{\"colour\": 1, " + first), "colour");
        refused(() -> Proofs.Entry.of("{\"actor\": {\"role\": \"x\"}, " + first), "role");
        refused(() -> Proofs.Entry.of("{\"salts\": {}, " + first), "seed");
    }

    private static void trees() {
        List<byte[]> leaves = leaves();
        for (JsonNode vector : given.get("roots")) {
            int size = vector.get("size").intValue();
            require(hex(Proofs.rootAround(List.of(), 0, leaves.subList(0, size), List.of(), size)).equals(text(vector, "root")), vector);
        }
        for (JsonNode vector : given.get("consistency")) {
            Proofs.Tree from = tree(vector.get("from").intValue());
            Proofs.Tree to = tree(vector.get("to").intValue());
            List<byte[]> path = hashes(vector.get("path"));
            require(Proofs.isConsistent(from, to, path), vector);
            require(!Proofs.isConsistent(new Proofs.Tree(from.size, leaves.get(12)), to, path), vector);
            require(!Proofs.isConsistent(from, new Proofs.Tree(to.size, leaves.get(12)), path), vector);
            require(!Proofs.isConsistent(to, from, path), vector);
            path.add(leaves.get(0));
            require(!Proofs.isConsistent(from, to, path), vector);
        }
    }

    private static void notesAndPages() {
        JsonNode log = given.get("log");
        List<Proofs.Key> keys = List.of(Proofs.Key.parse(text(log, "vkey")));
        String note = text(log, "checkpoint");
        Proofs.Tree tree = Proofs.Checkpoint.open(note, keys).tree;
        refused(() -> Proofs.Key.parse(text(log, "vkey").replace("+d3", "+d4")), "another id");
        refused(() -> Proofs.Checkpoint.open(note.replace("\n13\n", "\n14\n"), keys), "does not hold");
        refused(() -> Proofs.Checkpoint.open(note.replace("log/1", "log/2"), keys), "no key is known");
        refused(() -> Proofs.Checkpoint.open(note.replace("06SH", "07SH"), keys), "has signed");
        refused(() -> Proofs.Checkpoint.open(note.substring(0, note.length() - 1), keys), "no signed note");

        List<String> records = new ArrayList<>();
        given.get("records").forEach(vector -> records.add(seeded(vector)));
        List<String> page = new ArrayList<>(records.subList(4, 9));
        require(Proofs.page(page(page), tree).records.size() == 5, "a page");
        refused(() -> Proofs.page(page(page.subList(1, 5)), tree), "its place is");
        refused(() -> Proofs.page(page(page.subList(0, 4)), tree), "more or fewer hashes");
        List<String> forged = new ArrayList<>(page);
        forged.set(2, page.get(2).replace("\"action\": \"", "\"action\": \"x"));
        refused(() -> Proofs.page(page(forged), tree), "are not those of the log");
        List<String> swapped = new ArrayList<>(page);
        swapped.set(0, page.get(1));
        swapped.set(1, page.get(0));
        refused(() -> Proofs.page(page(swapped), tree), "its place is");
    }

    private static String page(List<String> records) {
        JsonNode page = given.get("page");
        return String.format(
                "{\"results\": %s, \"proof\": {\"start\": 4, \"end\": %d, \"left\": %s, \"right\": %s}}",
                records, 4 + records.size(), base64(page.get("left")), base64(page.get("right")));
    }

    private static String base64(JsonNode hashes) {
        return hashes(hashes).stream()
                .map(hash -> "\"" + Base64.getEncoder().encodeToString(hash) + "\"")
                .collect(Collectors.joining(",", "[", "]"));
    }

    private static Proofs.Tree tree(int size) {
        return new Proofs.Tree(size, bytes(given.get("roots").get(size).get("root")));
    }

    private static List<byte[]> leaves() {
        List<byte[]> leaves = new ArrayList<>();
        given.get("records").forEach(vector -> leaves.add(bytes(vector.get("leaf"))));
        return leaves;
    }

    private static String seeded(JsonNode vector) {
        String record = text(vector, "record");
        return record.substring(0, record.length() - 1) + ", \"seed\": \"" + text(vector, "seed") + "\"}";
    }

    private static List<byte[]> hashes(JsonNode array) {
        List<byte[]> hashes = new ArrayList<>();
        array.forEach(hash -> hashes.add(bytes(hash)));
        return hashes;
    }

    private static String text(JsonNode of, String name) {
        return of.get(name).textValue();
    }

    private static byte[] bytes(JsonNode hex) {
        byte[] number = new BigInteger("1" + hex.textValue(), 16).toByteArray();
        return Arrays.copyOfRange(number, number.length - 32, number.length);
    }

    private static String hex(byte[] bytes) {
        return String.format("%064x", new BigInteger(1, bytes));
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
