package dev.annals.derived.log;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A third-party witness in a process of its own: transparency-dev/witness, built with Go. */
public final class TestWitness implements AutoCloseable {

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

    /** Starts a witness without logs. Skips the test without Go. */
    public static TestWitness start(String name, Path directory) throws Exception {
        Path logs = directory.resolve(name.replace('/', '-') + ".logs");
        Files.createFile(logs);
        Process process = new ProcessBuilder(GoPrograms.built("witness").toString(), name, logs.toString())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        return new TestWitness(process, logs);
    }

    /** Adds a log. */
    public void add(String logVkey) throws IOException {
        Files.writeString(logs, logVkey + "\n", StandardOpenOption.APPEND);
    }

    public String vkey() {
        return vkey;
    }

    /** The file with the keys of its logs. */
    Path logs() {
        return logs;
    }

    /** The value of the service's setting. */
    public String setting() {
        return vkey + " http://127.0.0.1:" + port;
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
