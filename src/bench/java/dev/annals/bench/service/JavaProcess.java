package dev.annals.bench.service;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A Java program of its own that answers HTTP on a port, ended when it is closed. */
public final class JavaProcess implements AutoCloseable {

    static final String PORT = "PORT";

    private static final Pattern HISTOGRAM_TOTAL = Pattern.compile("Total +\\d+ +(\\d+)");

    private static final Duration START_LIMIT = Duration.ofSeconds(60);
    private static final long STOP_LIMIT_SECONDS = 30;
    /** The program's own start is what shall take time. */
    private static final long POLL_MILLIS = 10;

    private final String name;
    private final Process process;
    private final int port;
    private final long begin;
    private long ready;

    private JavaProcess(String name, Process process, int port, long begin) {
        this.name = name;
        this.process = process;
        this.port = port;
        this.begin = begin;
    }

    /**
     * Starts a program and waits until it answers.
     *
     * @param environment in which a value of {@link #PORT} becomes the port it shall listen on
     * @param readyPath answers 200 once the program is ready
     */
    static JavaProcess start(String name, List<String> arguments, Map<String, String> environment, String readyPath)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(arguments);
        return startCommand(name, command, environment, readyPath);
    }

    /** The same for a command that runs a Java program in its place. */
    static JavaProcess startCommand(
            String name, List<String> command, Map<String, String> environment, String readyPath)
            throws IOException, InterruptedException {
        int port = freePort();
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().keySet().removeIf(variable -> variable.startsWith("ANNALS_"));
        environment.forEach(
                (variable, value) -> builder.environment().put(variable, value.equals(PORT) ? "" + port : value));
        Path log = Path.of("target", "bench-" + name + ".log");
        long begin = System.nanoTime();
        Process process =
                builder.redirectErrorStream(true).redirectOutput(log.toFile()).start();
        // Also where the benchmarks are ended from outside.
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroy));
        JavaProcess started = new JavaProcess(name, process, port, begin);
        try {
            started.awaitReady(readyPath, log);
            return started;
        } catch (IOException | InterruptedException | RuntimeException e) {
            started.close();
            throw e;
        }
    }

    int port() {
        return port;
    }

    /** The time from the start of the process to its first good answer. */
    public double secondsToFirstAnswer() {
        return (ready - begin) / 1e9;
    }

    private void awaitReady(String path, Path log) throws IOException, InterruptedException {
        HttpClient client = HttpClient.newHttpClient();
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                .timeout(Duration.ofSeconds(5))
                .build();
        long end = System.nanoTime() + START_LIMIT.toNanos();
        while (true) {
            try {
                if (client.send(request, HttpResponse.BodyHandlers.discarding()).statusCode() == 200) {
                    ready = System.nanoTime();
                    return;
                }
            } catch (IOException e) {
                // It does not listen yet.
            }
            if (!process.isAlive() || System.nanoTime() > end) {
                throw new IOException("The program " + name + " does not start: " + Files.readString(log));
            }
            TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
        }
    }

    /** Fails if the program has ended, so that no caller waits for it. */
    public void requireAlive() {
        if (!process.isAlive()) {
            throw new IllegalStateException("The program " + name + " has ended with " + process.exitValue());
        }
    }

    /** The processor time that the program has used since its start. */
    double processorSeconds() {
        return process.info().totalCpuDuration().orElse(Duration.ZERO).toNanos() / 1e9;
    }

    /** The resident memory of the program in bytes (VmRSS of Linux). */
    public long residentBytes() throws IOException {
        try (var lines = Files.lines(Path.of("/proc", Long.toString(process.pid()), "status"))) {
            return lines.filter(line -> line.startsWith("VmRSS:"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) * 1024)
                    .findFirst()
                    .orElseThrow();
        }
    }

    /** The bytes of its heap in use after a full garbage collection. */
    public long liveHeapBytes() throws IOException, InterruptedException {
        Process histogram = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(),
                        Long.toString(process.pid()),
                        "GC.class_histogram")
                .redirectErrorStream(true)
                .start();
        String output = new String(histogram.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        Matcher total = HISTOGRAM_TOTAL.matcher(output);
        if (histogram.waitFor() != 0 || !total.find()) {
            throw new IOException("jcmd cannot tell what is in the heap: " + output);
        }
        return Long.parseLong(total.group(1));
    }

    @Override
    public void close() {
        process.destroy();
        try {
            if (!process.waitFor(STOP_LIMIT_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }
}
