package dev.annals.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The packaged program as its user starts it: the native executable where the build made one, else the jar. */
public final class ServiceProcess implements AutoCloseable {

    private static final Path JAR = Path.of("target", "quarkus-app", "quarkus-run.jar");
    private static final Pattern LISTENING = Pattern.compile("Listening on: http://[^:]+:(\\d+)");
    private static final long END_LIMIT_SECONDS = 60;

    /** What it printed so far, on standard output and error together. */
    public final List<String> output = Collections.synchronizedList(new ArrayList<>());

    private final Process process;
    private final BufferedReader reader;
    private @Nullable Thread drain;
    private int port;

    private ServiceProcess(Process process) {
        this.process = process;
        this.reader = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    }

    /** Starts the program with these settings in its environment, and on a free port unless they name one. */
    public static ServiceProcess start(Map<String, String> settings, String... arguments) throws IOException {
        assumeTrue(Files.exists(Path.of("/usr/bin/setsid")), "process groups are made by Linux' setsid");
        // In a process group of its own, as a shell does it for what is typed.
        List<String> command = new ArrayList<>(List.of("setsid"));
        command.addAll(program());
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().keySet().removeIf(name -> name.startsWith("ANNALS_"));
        builder.environment().put("ANNALS_PORT", "0");
        builder.environment().putAll(settings);
        return new ServiceProcess(builder.redirectErrorStream(true).start());
    }

    private static List<String> program() throws IOException {
        if (Files.exists(JAR)) {
            String java =
                    Path.of(System.getProperty("java.home"), "bin", "java").toString();
            return List.of(java, "-jar", JAR.toAbsolutePath().toString());
        }
        try (Stream<Path> files = Files.list(Path.of("target"))) {
            List<String> executables = files.filter(file -> file.toString().endsWith("-runner"))
                    .map(file -> file.toAbsolutePath().toString())
                    .toList();
            assumeTrue(executables.size() == 1, "the package is neither a jar nor a native executable");
            return executables;
        }
    }

    /** Waits until it listens. */
    public ServiceProcess awaitListening() throws IOException {
        for (String line = reader.readLine(); line != null; line = reader.readLine()) {
            output.add(line);
            Matcher listening = LISTENING.matcher(line);
            if (listening.find()) {
                port = Integer.parseInt(listening.group(1));
                // Nobody may leave it with a full pipe.
                drain = new Thread(this::readToTheEnd, "output of the service");
                drain.setDaemon(true);
                drain.start();
                return this;
            }
        }
        throw new AssertionError("The service ended:\n" + String.join("\n", output));
    }

    /** Reads what it prints until it ends, and waits for that. */
    public int awaitEnd() throws InterruptedException {
        if (drain == null) {
            readToTheEnd();
        } else {
            drain.join();
        }
        assertThat(process.waitFor(END_LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
        return process.exitValue();
    }

    private void readToTheEnd() {
        try {
            reader.lines().forEach(output::add);
        } catch (UncheckedIOException e) {
            output.add("The pipe of the killed process is closed: " + e.getMessage());
        }
    }

    /** Where it listens. */
    public URI uri(String path) {
        return URI.create("http://127.0.0.1:" + port + path);
    }

    /** The operating system's view of it. */
    public Process process() {
        return process;
    }

    @Override
    public void close() {
        process.destroyForcibly().onExit().join();
    }
}
