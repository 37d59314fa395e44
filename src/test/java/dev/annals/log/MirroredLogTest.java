package dev.annals.log;

import static dev.annals.Tools.need;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.AuditLogFixture;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.embedded.TestDatabase;
import dev.annals.projection.RandomRecords;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.Hash;
import dev.annals.proof.MasterKey;
import dev.annals.proof.Note;
import dev.annals.proof.ProvedRecord;
import dev.annals.proof.TlogProof;
import dev.sigstore.merkle.InclusionProofVerificationException;
import dev.sigstore.merkle.InclusionProofVerifier;
import dev.sigstore.rekor.client.Checkpoints;
import io.quarkus.test.common.QuarkusTestResource;
import io.quarkus.test.junit.QuarkusTest;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Verifiers that others wrote accept what a client of tlog-tiles has copied of a live log, and refuse a copy that was changed:
 * Cloudflare's crates in Rust, pymerkle in Python, and sigstore-java.
 */
@QuarkusTest
@QuarkusTestResource(TestDatabase.class)
@Timeout(600)
class MirroredLogTest {

    private static final int RECORDS = 700;
    private static final int SEEN = 290;
    private static final int ENTRY = 2 + Hash.BYTES;
    private static final int LIMIT_SECONDS = 300;
    private static final Path SOURCES = Path.of("src", "test", "verifiers").toAbsolutePath();
    private static final Path BUILT = Path.of("target", "verifiers").toAbsolutePath();

    private final AuditLogFixture log = new AuditLogFixture();
    private final Random random = new Random(20260505);
    private Project project;
    private LogReader reader;
    private Checkpoint signed;
    private String vkey;

    @TempDir
    Path mirror;

    @BeforeEach
    void copy() throws Exception {
        project = log.newProject();
        reader = new LogReader(project);
        vkey = reader.get(AuditLogFixture.LOGS + "/log").path("vkeys[0]");
        write("vkey", vkey.getBytes(StandardCharsets.UTF_8));
        append(SEEN);
        write("seen", get("/checkpoint"));
        append(RECORDS - SEEN);
        signed = Checkpoint.of(Note.parse(new String(get("/checkpoint"), StandardCharsets.UTF_8)));
        write("checkpoint", get("/checkpoint"));
        for (String tile : List.of("000", "001", "002.p/" + (RECORDS - 512))) {
            write("tile/0/" + tile, get("/tile/0/" + tile));
            write("tile/entries/" + tile, get("/tile/entries/" + tile));
        }
        write("tile/1/000.p/2", get("/tile/1/000.p/2"));
    }

    private void append(int count) throws Exception {
        long before = reader.next().size();
        try (Connection connection = log.connect()) {
            RandomRecords.append(connection, project.id(), count, random);
            connection.commit();
        }
        Await.until("the log has them", () -> reader.next().size() == before + count);
    }

    private byte[] get(String path) {
        return reader.get(reader.prefix() + path)
                .then()
                .statusCode(200)
                .extract()
                .asByteArray();
    }

    private void write(String name, byte[] bytes) throws IOException {
        Path file = mirror.resolve(name);
        Files.createDirectories(file.getParent());
        Files.write(file, bytes);
    }

    private interface Tampering {
        void with(MirroredLogTest copy) throws Exception;
    }

    /** What somebody does to a copy; each is undone before the next. */
    private static Map<String, Tampering> tampering() {
        String last = "tile/entries/002.p/" + (RECORDS - 512);
        Map<String, Tampering> all = new LinkedHashMap<>();
        all.put(
                "changes a record",
                copy -> copy.change("tile/entries/001", body -> {
                    body[ENTRY * 7 + 20] ^= 1;
                    return body;
                }));
        all.put(
                "swaps two records",
                copy -> copy.change("tile/entries/000", body -> {
                    byte[] swapped = body.clone();
                    System.arraycopy(body, 0, swapped, ENTRY * 9, ENTRY);
                    System.arraycopy(body, ENTRY * 9, swapped, 0, ENTRY);
                    return swapped;
                }));
        all.put("cuts the tail", copy -> copy.change(last, body -> Arrays.copyOf(body, body.length - ENTRY)));
        all.put(
                "cuts the tail, and has the key",
                copy -> copy.write("checkpoint", copy.forged(SEEN - 1, MasterKey.parse(AuditLogFixture.LOG_KEY))));
        all.put("forges a checkpoint", copy -> copy.write("checkpoint", copy.forged(RECORDS, MasterKey.draw())));
        all.put(
                "forges another history, and has the key",
                copy -> copy.write("checkpoint", copy.forged(RECORDS, MasterKey.parse(AuditLogFixture.LOG_KEY))));
        return all;
    }

    private interface Change {
        byte[] of(byte[] body);
    }

    private void change(String name, Change change) throws IOException {
        write(name, change.of(Files.readAllBytes(mirror.resolve(name))));
    }

    private byte[] forged(long size, MasterKey key) {
        // With another root than the log has, unless somebody else has signed it.
        Hash root = size == RECORDS
                        && !key.of(signed.origin()).verifier().toString().equals(vkey)
                ? signed.root()
                : Hash.EMPTY_TREE;
        Checkpoint forged = new Checkpoint(signed.origin(), size, root);
        return forged.sign(List.of(key.of(signed.origin()))).toString().getBytes(StandardCharsets.UTF_8);
    }

    private void verifyWith(String... program) throws Exception {
        List<String> command = new ArrayList<>(List.of(program));
        command.add(mirror.toString());
        assertThat(run(0, command)).isEqualTo("verified " + RECORDS + " records\n");
        for (Map.Entry<String, Tampering> tampering : tampering().entrySet()) {
            tampering.getValue().with(this);
            assertThat(run(1, command)).as(tampering.getKey()).startsWith("refused: ");
            for (String name : List.of("checkpoint", "tile/entries/000", "tile/entries/001")) {
                write(name, get("/" + name));
            }
            String last = "tile/entries/002.p/" + (RECORDS - 512);
            write(last, get("/" + last));
        }
        assertThat(run(0, command)).isEqualTo("verified " + RECORDS + " records\n");
    }

    private static String run(int exitCode, List<String> command) throws Exception {
        Path output = Files.createTempFile("verifier", ".log");
        try {
            ProcessBuilder builder =
                    new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
            builder.environment().put("CARGO_TARGET_DIR", BUILT.resolve("rust").toString());
            Process process = builder.start();
            boolean ended = process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
            process.destroyForcibly().waitFor();
            String said = Files.readString(output);
            assertThat(ended && process.exitValue() == exitCode)
                    .as("%s: %s", command, said)
                    .isTrue();
            return said;
        } finally {
            Files.delete(output);
        }
    }

    private static boolean isThere(String... command) throws Exception {
        try {
            return new ProcessBuilder(command)
                            .redirectErrorStream(true)
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .start()
                            .waitFor()
                    == 0;
        } catch (IOException e) {
            return false;
        }
    }

    @Test
    void cloudflaresCratesAcceptItAndRefuseWhatWasChanged() throws Exception {
        need(isThere("cargo", "--version"), "Rust's cargo");
        run(
                0,
                List.of(
                        "cargo",
                        "build",
                        "--quiet",
                        "--locked",
                        "--manifest-path",
                        SOURCES.resolve("rust/Cargo.toml").toString()));
        verifyWith(BUILT.resolve("rust/debug/verifier").toString());
    }

    @Test
    void pymerkleAcceptsItAndRefusesWhatWasChanged() throws Exception {
        need(
                isThere("python3", "-c", "import sys, venv; sys.exit(sys.version_info < (3, 11))"),
                "Python 3.11 or newer with venv");
        Path python = BUILT.resolve("python/bin/python");
        Path complete = BUILT.resolve("python/complete");
        if (!Files.exists(complete)) {
            run(0, List.of("python3", "-m", "venv", BUILT.resolve("python").toString()));
            run(
                    0,
                    List.of(
                            python.toString(),
                            "-m",
                            "pip",
                            "install",
                            "--quiet",
                            "--disable-pip-version-check",
                            "--require-hashes",
                            "--requirement",
                            SOURCES.resolve("python/requirements.txt").toString()));
            Files.createFile(complete);
        }
        verifyWith(python.toString(), SOURCES.resolve("python/verify.py").toString());
    }

    /** It verifies single records, so each one is asked for, as the service proves it. */
    @Test
    void sigstoreAcceptsTheProofOfARecordAndRefusesWhatWasChanged() throws Exception {
        for (int sequenceId : new int[] {1, 256, 257, 500, RECORDS}) {
            TlogProof proof = proofOf(sequenceId);
            var checkpoint = Checkpoints.from(proof.checkpoint());
            assertThat(checkpoint.getOrigin()).isEqualTo(signed.origin());
            byte[] root = Base64.getDecoder().decode(checkpoint.getBase64Hash());
            byte[] leaf = ProvedRecord.parse(proof.record()).entry().leaf().bytes();
            List<byte[]> path =
                    new ArrayList<>(proof.path().stream().map(Hash::bytes).toList());
            long size = checkpoint.getSize();
            InclusionProofVerifier.verify(leaf, proof.index(), size, path, root);

            byte[] changed = ProvedRecord.parse(proof.record().replaceFirst("\"action\":\"", "\"action\":\"not "))
                    .entry()
                    .leaf()
                    .bytes();
            assertRefused(changed, proof.index(), size, path, root);
            assertRefused(leaf, proof.index() == 0 ? 1 : proof.index() - 1, size, path, root);
            assertRefused(leaf, proof.index(), size, path, Hash.EMPTY_TREE.bytes());
            assertRefused(leaf, proof.index(), size, path.subList(1, path.size()), root);
            Collections.swap(path, 0, path.size() - 1);
            assertRefused(leaf, proof.index(), size, path, root);
        }
    }

    private static void assertRefused(byte[] leaf, long index, long size, List<byte[]> path, byte[] root) {
        assertThatThrownBy(() -> InclusionProofVerifier.verify(leaf, index, size, path, root))
                .isInstanceOf(InclusionProofVerificationException.class);
    }

    private TlogProof proofOf(int sequenceId) {
        String id = reader.get(AuditLogFixture.LOGS + "?limit=1&cursor=" + (sequenceId - 1))
                .then()
                .statusCode(200)
                .extract()
                .path("results[0].id");
        return TlogProof.parse(
                reader.get(AuditLogFixture.LOGS + "/" + id + "/proof").asString());
    }
}
