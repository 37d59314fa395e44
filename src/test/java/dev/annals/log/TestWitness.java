package dev.annals.log;

import static dev.annals.Tools.need;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A witness that others wrote: transparency-dev/witness, in a process of its own, built with Go. */
public final class TestWitness implements AutoCloseable {

    /** It fetches the one that the module wants. */
    private static final int OLDEST_GO = 21;

    private static final int LIMIT_SECONDS = 240;

    private final Process process;
    private final BufferedReader output;
    private final Path logs;
    private final String vkey;
    private final int port;

    private TestWitness(Process process, Path logs) throws IOException {
        this.process = process;
        this.logs = logs;
        this.output = process.inputReader(StandardCharsets.UTF_8);
        this.vkey = output.readLine();
        this.port = Integer.parseInt(output.readLine());
    }

    /** Starts one that knows no log. Skips the test where there is no Go. */
    public static TestWitness start(String name, Path directory) throws Exception {
        Path logs = directory.resolve(name.replace('/', '-') + ".logs");
        Files.createFile(logs);
        Process process = new ProcessBuilder(built().toString(), name, logs.toString())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        return new TestWitness(process, logs);
    }

    private static Path built() throws Exception {
        need(goVersion() >= OLDEST_GO, "Go 1." + OLDEST_GO + " or newer");
        Path built = Files.createDirectories(Path.of("target", "witness").toAbsolutePath());
        for (String file : List.of("go.mod", "go.sum", "witness.go")) {
            Files.copy(
                    Path.of("src", "test", "witness", file), built.resolve(file), StandardCopyOption.REPLACE_EXISTING);
        }
        String fetched = run(built, "go", "mod", "download", "github.com/transparency-dev/witness");
        need(fetched.isEmpty(), "what go mod download fetches: " + fetched);
        assertThat(run(built, "go", "build", "-o", "witness", ".")).isEmpty();
        return built.resolve("witness");
    }

    private static int goVersion() throws Exception {
        try {
            Process process = new ProcessBuilder("go", "version").start();
            String version = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return Integer.parseInt(version.replaceFirst("(?s)go version go1\\.(\\d+).*", "$1"));
        } catch (IOException e) {
            return 0;
        }
    }

    /** Gives what a program says where it fails, and nothing where it does not. */
    private static String run(Path directory, String... command) throws Exception {
        Path output = Files.createTempFile("witness", ".log");
        try {
            Process process = new ProcessBuilder(command)
                    .directory(directory.toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
            boolean ended = process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
            process.destroyForcibly().waitFor();
            return ended && process.exitValue() == 0 ? "" : "failed: " + Files.readString(output);
        } finally {
            Files.delete(output);
        }
    }

    /** Has it know a log. */
    public void add(String logVkey) throws IOException {
        Files.writeString(logs, logVkey + "\n", StandardOpenOption.APPEND);
    }

    public String vkey() {
        return vkey;
    }

    /** The file with the keys of the logs that it knows. */
    Path logs() {
        return logs;
    }

    /** As the service's setting names it. */
    public String setting() {
        return vkey + " http://127.0.0.1:" + port;
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
