package dev.annals.derived.log;

import static dev.annals.Tools.need;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.Slow;
import dev.annals.TakesLong;
import dev.annals.derived.projection.RandomRecords;
import dev.annals.derived.proof.MasterKey;
import dev.annals.derived.proof.SigningKey;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.CompactRange;
import dev.annals.proof.Hash;
import dev.annals.proof.MerkleTree;
import dev.annals.proof.ProvedRecord;
import dev.annals.proof.TlogProof;
import dev.annals.tools.embedded.TestDatabase;
import dev.sigstore.encryption.signers.Verifiers;
import dev.sigstore.merkle.InclusionProofVerificationException;
import dev.sigstore.merkle.InclusionProofVerifier;
import dev.sigstore.rekor.client.Checkpoints;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.SignatureException;
import java.security.spec.X509EncodedKeySpec;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Third-party verifiers accept a copy of a live log that a client of tlog-tiles made, and refuse a changed copy. The table in
 * docs/proof.md states what each one detects. The test of a verifier reads its row, and finds exactly that.
 */
@Slow
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
@Timeout(600)
class MirroredLogTest {

    private static final int RECORDS = 700;
    /** The size that a reader has seen. */
    private static final int SEEN = 290;
    /** An earlier size. */
    private static final int EARLIER = 100;

    private static final int LIMIT_SECONDS = 300;
    private static final Path SOURCES = Path.of("src", "test", "verifiers").toAbsolutePath();
    private static final Path BUILT = Path.of("target", "verifiers").toAbsolutePath();
    private static final MasterKey KEY = MasterKey.parse(AuditLogFixture.LOG_KEY);
    private static final HexFormat HEX = HexFormat.of();

    /** The files of one log for all tests, by URL. */
    private static final Map<String, byte[]> SERVED = new TreeMap<>();

    private static Project project;
    private static LogReader reader;
    private static String vkey;
    private static String origin;

    @TempDir
    Path mirror;

    @BeforeEach
    void copy() throws Exception {
        if (SERVED.isEmpty()) {
            project = new AuditLogFixture().newProject();
            reader = new LogReader(project);
            vkey = reader.get(AuditLogFixture.LOGS + "/log").path("vkeys[0]");
            origin = vkey.substring(0, vkey.indexOf('+'));
            SERVED.put("vkey", vkey.getBytes(StandardCharsets.UTF_8));
            append(EARLIER);
            SERVED.put("earlier", get("checkpoint"));
            append(SEEN - EARLIER);
            SERVED.put("seen", get("checkpoint"));
            append(RECORDS - SEEN);
            for (String path : new String[] {"checkpoint", "tile/1/000.p/2"}) {
                SERVED.put(path, get(path));
            }
            for (String tile : List.of("000", "001", "002.p/" + (RECORDS - 512))) {
                for (String path : List.of("tile/0/" + tile, "tile/entries/" + tile)) {
                    SERVED.put(path, get(path));
                }
            }
        }
        write(SERVED);
    }

    private static void append(int count) throws Exception {
        long before = reader.next().size();
        try (Connection connection = new AuditLogFixture().connect()) {
            RandomRecords.append(connection, project.id(), count, new Random(20260505 + before));
            connection.commit();
        }
        Await.until("the log has them", () -> reader.next().size() == before + count);
    }

    private static byte[] get(String path) {
        return reader.get(reader.prefixed(path))
                .then()
                .statusCode(200)
                .extract()
                .asByteArray();
    }

    private void write(Map<String, byte[]> files) throws IOException {
        for (Map.Entry<String, byte[]> file : files.entrySet()) {
            Path path = mirror.resolve(file.getKey());
            Files.createDirectories(path.getParent());
            Files.write(path, file.getValue());
        }
    }

    /** Changes to a log, in the order of the columns in docs/proof.md: files that replace served ones. */
    private static List<Map<String, byte[]>> faults() {
        List<byte[]> entries = entries(SERVED);
        List<byte[]> changed = new ArrayList<>(entries);
        changed.set(263, Hash.EMPTY_TREE.bytes());
        List<byte[]> swapped = new ArrayList<>(entries);
        Collections.swap(swapped, 3, 12);
        Checkpoint signed = new Checkpoint(origin, RECORDS, root(entries));
        return List.of(
                bundles(changed),
                bundles(swapped),
                Map.of(
                        "tile/entries/002.p/" + (RECORDS - 512),
                        bundles(entries.subList(0, RECORDS - 1)).get("tile/entries/002.p/" + (RECORDS - 513))),
                Map.of("checkpoint", note(signed, MasterKey.draw())),
                merged(log(entries.subList(0, EARLIER)), Map.of("checkpoint", SERVED.get("earlier"))),
                merged(log(changed), Map.of("checkpoint", note(new Checkpoint(origin, RECORDS, root(changed)), KEY))));
    }

    private static Map<String, byte[]> merged(Map<String, byte[]> one, Map<String, byte[]> other) {
        Map<String, byte[]> both = new TreeMap<>(one);
        both.putAll(other);
        return both;
    }

    private static byte[] note(Checkpoint checkpoint, MasterKey key) {
        return SigningKey.sign(checkpoint, List.of(key.of(origin))).toString().getBytes(StandardCharsets.UTF_8);
    }

    private static List<byte[]> entries(Map<String, byte[]> files) {
        List<byte[]> entries = new ArrayList<>();
        files.forEach((name, bytes) -> {
            for (int at = 0; name.startsWith("tile/entries/") && at < bytes.length; at += 2 + Hash.BYTES) {
                entries.add(Arrays.copyOfRange(bytes, at + 2, at + 2 + Hash.BYTES));
            }
        });
        assertThat(entries).hasSize(RECORDS);
        return entries;
    }

    private static Hash root(List<byte[]> entries) {
        CompactRange tree = CompactRange.at(0);
        entries.forEach(entry -> tree.append(Hash.at(entry, 0).leaf()));
        return tree.root();
    }

    private static Map<String, byte[]> bundles(List<byte[]> entries) {
        return tiles("tile/entries/", entries, (entry, out) -> {
            out.write(0);
            out.write(Hash.BYTES);
            out.writeBytes(entry);
        });
    }

    /** All files of a log of these entries, except the checkpoint. */
    private static Map<String, byte[]> log(List<byte[]> entries) {
        Map<String, byte[]> files = new TreeMap<>(bundles(entries));
        files.putAll(tiles(
                "tile/0/",
                entries,
                (entry, out) -> out.writeBytes(Hash.at(entry, 0).leaf().bytes())));
        ByteArrayOutputStream above = new ByteArrayOutputStream();
        for (int start = 0; start + 256 <= entries.size(); start += 256) {
            above.writeBytes(root(entries.subList(start, start + 256)).bytes());
        }
        files.put("tile/1/000.p/" + above.size() / Hash.BYTES, above.toByteArray());
        return files;
    }

    private interface Encoding {
        void write(byte[] entry, ByteArrayOutputStream out);
    }

    private static Map<String, byte[]> tiles(String prefix, List<byte[]> entries, Encoding encoding) {
        Map<String, byte[]> files = new TreeMap<>();
        for (int start = 0; start < entries.size(); start += 256) {
            int end = Math.min(start + 256, entries.size());
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            entries.subList(start, end).forEach(entry -> encoding.write(entry, out));
            String name = String.format("%03d", start / 256) + (end - start == 256 ? "" : ".p/" + (end - start));
            files.put(prefix + name, out.toByteArray());
        }
        return files;
    }

    /** The answers of a verifier, as in its row of the table: a name, and an answer for each change. */
    private static List<String> documented(String verifier) throws IOException {
        String row = Files.readAllLines(Path.of("docs", "proof.md")).stream()
                .filter(line -> line.startsWith("| " + verifier + " |"))
                .findFirst()
                .orElseThrow();
        return Arrays.stream(row.split("\\|")).skip(2).map(String::strip).toList();
    }

    private static final String REFUSED = "refused";
    private static final String NOT_SEEN = "not seen";

    private interface Verifier {
        /** Whether the verifier refuses the mirror. Fails if it neither accepts nor refuses. */
        boolean refuses() throws Exception;
    }

    private void assertSeesWhatIsDocumented(String name, Verifier verifier) throws Exception {
        assertThat(verifier.refuses()).as("what the log serves").isFalse();
        List<String> seen = new ArrayList<>();
        for (Map<String, byte[]> fault : faults()) {
            write(fault);
            seen.add(verifier.refuses() ? REFUSED : NOT_SEEN);
            write(SERVED);
        }
        assertThat(seen).isEqualTo(documented(name));
    }

    private boolean refuses(String... program) throws Exception {
        List<String> command = new ArrayList<>(List.of(program));
        command.add(mirror.toString());
        Result result = run(command);
        if (result.exitCode() == 0) {
            assertThat(result.output()).matches("verified \\d+ records\n");
            return false;
        }
        assertThat(result.output()).startsWith("refused: ");
        return true;
    }

    private record Result(int exitCode, String output) {}

    private static Result run(List<String> command) throws Exception {
        Path output = Files.createTempFile("verifier", ".log");
        try {
            ProcessBuilder builder =
                    new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
            builder.environment().put("CARGO_TARGET_DIR", BUILT.resolve("rust").toString());
            Process process = builder.start();
            boolean ended = process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
            process.destroyForcibly().waitFor();
            return new Result(ended ? process.exitValue() : -1, Files.readString(output));
        } finally {
            Files.delete(output);
        }
    }

    private static void make(String... command) throws Exception {
        Result result = run(List.of(command));
        assertThat(result.exitCode()).as(result.output()).isZero();
    }

    private static boolean isThere(String... command) throws Exception {
        try {
            return run(List.of(command)).exitCode() == 0;
        } catch (IOException e) {
            return false;
        }
    }

    @Test
    @TakesLong
    void fsckOfTessera() throws Exception {
        Path fsck = GoPrograms.fsck();
        assertSeesWhatIsDocumented(
                "tessera's `fsck` v1.0.4",
                () -> !run(List.of(
                                fsck.toString(),
                                "-storage_url=" + mirror.toUri(),
                                "-public_key=" + mirror.resolve("vkey"),
                                "-N=64",
                                "-ui=false"))
                        .output()
                        .contains(GoPrograms.FSCK_SUCCEEDS));
    }

    @Test
    @TakesLong
    void golangsMod() throws Exception {
        String program = GoPrograms.built("verifiers").toString();
        assertSeesWhatIsDocumented(
                "`sumdb/note` and `sumdb/tlog` of golang.org/x/mod v0.42.0", () -> refuses(program, "x/mod"));
    }

    @Test
    @TakesLong
    void merkleOfTransparencyDev() throws Exception {
        String program = GoPrograms.built("verifiers").toString();
        assertSeesWhatIsDocumented(
                "transparency-dev/merkle v0.0.2 with `sumdb/note`", () -> refuses(program, "merkle"));
    }

    @Test
    @TakesLong
    void cratesOfCloudflare() throws Exception {
        need(isThere("cargo", "--version"), "Rust's cargo");
        make(
                "cargo",
                "build",
                "--quiet",
                "--locked",
                "--manifest-path",
                SOURCES.resolve("rust/Cargo.toml").toString());
        String program = BUILT.resolve("rust/debug/verifier").toString();
        assertSeesWhatIsDocumented("Cloudflare's crates `tlog_tiles` and `signed_note` 0.2.0", () -> refuses(program));
    }

    @Test
    @TakesLong
    void pymerkle() throws Exception {
        need(
                isThere("python3", "-c", "import sys, venv; sys.exit(sys.version_info < (3, 11))"),
                "Python 3.11 or newer with venv");
        String python = BUILT.resolve("python/bin/python").toString();
        Path complete = BUILT.resolve("python/complete");
        if (!Files.exists(complete)) {
            make("python3", "-m", "venv", BUILT.resolve("python").toString());
            make(
                    python,
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--disable-pip-version-check",
                    "--require-hashes",
                    "--requirement",
                    SOURCES.resolve("python/requirements.txt").toString());
            Files.createFile(complete);
        }
        String program = SOURCES.resolve("python/verify.py").toString();
        assertSeesWhatIsDocumented("pymerkle 7.0.0 with cryptography", () -> refuses(python, program));
    }

    /** It verifies single records. */
    private record Proof(Hash leaf, long index, List<Hash> path, String note) {

        Proof with(Hash otherLeaf) {
            return new Proof(otherLeaf, index, path, note);
        }

        Proof with(String otherNote) {
            return new Proof(leaf, index, path, otherNote);
        }
    }

    @Test
    void sigstoreJava() throws Exception {
        for (int sequenceId : new int[] {1, 256, 257, 500, RECORDS}) {
            Proof proof = proofOf(sequenceId);
            assertThat(sigstoreRefuses(proof)).isFalse();
            List<byte[]> entries = entries(SERVED);
            List<byte[]> changed = new ArrayList<>(entries);
            changed.set(sequenceId - 1, Hash.EMPTY_TREE.bytes());
            Proof another = proofOf(sequenceId == 1 ? 2 : 1);
            // The last one holds the key, so the path belongs to the other history.
            List<Proof> faults = List.of(
                    proof.with(Hash.EMPTY_TREE),
                    proof.with(another.leaf()),
                    new Proof(
                            proof.leaf(),
                            proof.index(),
                            proof.path().subList(1, proof.path().size()),
                            proof.note()),
                    proof.with(text(note(new Checkpoint(origin, RECORDS, root(entries)), MasterKey.draw()))),
                    inLogOf(entries.subList(0, EARLIER), Math.min(sequenceId, EARLIER), text(SERVED.get("earlier"))),
                    inLogOf(changed, sequenceId, text(note(new Checkpoint(origin, RECORDS, root(changed)), KEY))));
            List<String> seen = new ArrayList<>();
            for (Proof fault : faults) {
                seen.add(sigstoreRefuses(fault) ? REFUSED : NOT_SEEN);
            }
            assertThat(seen).as("record " + sequenceId).isEqualTo(documented("sigstore-java 2.0.0"));
            if (sequenceId > EARLIER) {
                assertThat(sigstoreRefuses(proof.with(text(SERVED.get("earlier")))))
                        .as("a record behind the tail that was cut")
                        .isTrue();
            }
        }
    }

    private static String text(byte[] note) {
        return new String(note, StandardCharsets.UTF_8);
    }

    private static Proof inLogOf(List<byte[]> entries, int sequenceId, String note) {
        List<Hash> path = new ArrayList<>();
        for (MerkleTree.Part part : MerkleTree.inclusion(sequenceId - 1L, entries.size())) {
            path.add(part.hash(node -> root(entries.subList((int) node.start(), (int) node.end()))));
        }
        return new Proof(Hash.at(entries.get(sequenceId - 1), 0).leaf(), sequenceId - 1L, path, note);
    }

    private static boolean sigstoreRefuses(Proof proof) throws Exception {
        var checkpoint = Checkpoints.from(proof.note());
        assertThat(checkpoint.getOrigin()).isEqualTo(origin);
        byte[] key = Base64.getDecoder().decode(vkey.split("\\+", 3)[2]);
        PublicKey ed25519 = KeyFactory.getInstance("Ed25519")
                .generatePublic(
                        new X509EncodedKeySpec(HEX.parseHex("302a300506032b6570032100" + HEX.formatHex(key, 1, 33))));
        byte[] signed = checkpoint.getSignedData().getBytes(StandardCharsets.UTF_8);
        try {
            // Its verification of whole entries expects a URL's host as the name of the key.
            if (checkpoint.getSignatures().size() != 1
                    || !Verifiers.newVerifier(ed25519)
                            .verify(signed, checkpoint.getSignatures().get(0).getSignature())) {
                return true;
            }
            InclusionProofVerifier.verify(
                    proof.leaf().bytes(),
                    proof.index(),
                    checkpoint.getSize(),
                    proof.path().stream().map(Hash::bytes).toList(),
                    Base64.getDecoder().decode(checkpoint.getBase64Hash()));
            return false;
        } catch (InclusionProofVerificationException | SignatureException e) {
            return true;
        }
    }

    private static Proof proofOf(int sequenceId) {
        String id = reader.get(AuditLogFixture.LOGS + "?limit=1&cursor=" + (sequenceId - 1))
                .then()
                .statusCode(200)
                .extract()
                .path("results[0].id");
        TlogProof proof = TlogProof.parse(
                reader.get(AuditLogFixture.LOGS + "/" + id + "/proof").asString());
        return new Proof(
                ProvedRecord.parse(proof.record()).entry().leaf(), proof.index(), proof.path(), proof.checkpoint());
    }
}
