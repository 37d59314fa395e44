package dev.annals.derived.log;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A witness that others wrote: transparency-dev/witness, in a process of its own, built with Go. */
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

    /** Starts one that knows no log. Skips the test where there is no Go. */
    public static TestWitness start(String name, Path directory) throws Exception {
        Path logs = directory.resolve(name.replace('/', '-') + ".logs");
        Files.createFile(logs);
        Process process = new ProcessBuilder(GoPrograms.built("witness").toString(), name, logs.toString())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        return new TestWitness(process, logs);
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
