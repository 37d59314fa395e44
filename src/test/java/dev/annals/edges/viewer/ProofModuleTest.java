package dev.annals.edges.viewer;

import static dev.annals.Tools.need;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.BesideTheService;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The verifier of the viewer and of the client in TypeScript, against the vectors of docs/leaf-format.md. */
@BesideTheService
class ProofModuleTest {

    private static final Path VERIFIER = Path.of("src/main/resources/META-INF/resources/proof.js");

    @TempDir
    Path folder;

    @Test
    void correctVectorsAreAcceptedAndWrongOnesAreRefused() throws Exception {
        need(isThere("node"), "Node");
        // Node takes a file of this name for a module wherever it is.
        Path verifier = Files.copy(VERIFIER, folder.resolve("proof.mjs"));
        Path printed = folder.resolve("printed");
        Process process = new ProcessBuilder(
                        "node",
                        "src/test/proof/vectors.mjs",
                        verifier.toString(),
                        "src/test/resources/dev/annals/proof/leaf-vectors.json")
                .redirectErrorStream(true)
                .redirectOutput(printed.toFile())
                .start();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(Files.readString(printed)).endsWith("all vectors hold\n");
        assertThat(process.exitValue()).isZero();
    }

    static boolean isThere(String tool) throws InterruptedException {
        try {
            return new ProcessBuilder(tool, "--version")
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .start()
                            .waitFor()
                    == 0;
        } catch (IOException e) {
            return false;
        }
    }
}
