package dev.annals;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Writer;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The packaged service as a process, with a database of its own, that can be stopped and started again on its port. */
public final class PackagedService implements AutoCloseable {

    private static final Path JAR = Path.of("target", "quarkus-app", "quarkus-run.jar");
    private static final Pattern TOKEN = Pattern.compile("export ANNALS_TOKEN=(\\S+)");

    private final Path data;
    private final int port;
    private final List<String> options;
    private Process process;
    private String token;

    /** Starts it with these options of the Java machine. */
    public PackagedService(Path data, String... options) throws Exception {
        assumeTrue(Files.exists(JAR), "the package is no jar");
        this.data = data;
        this.options = Arrays.asList(options);
        try (ServerSocket socket = new ServerSocket(0)) {
            port = socket.getLocalPort();
        }
        start();
    }

    /** Starts it, and waits until it listens. */
    public void start() throws Exception {
        ProcessBuilder builder = java(options, List.of());
        builder.environment().put("ANNALS_DATA_DIR", data.toString());
        builder.environment().put("ANNALS_PORT", Integer.toString(port));
        process = builder.redirectErrorStream(true).start();
        BufferedReader output =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        StringBuilder printed = new StringBuilder();
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            printed.append(line).append('\n');
            Matcher matcher = TOKEN.matcher(line);
            if (matcher.find()) {
                token = matcher.group(1);
            }
            if (line.contains("Listening on")) {
                drain(output);
                return;
            }
        }
        throw new AssertionError("The service ended:\n" + printed);
    }

    private static void drain(BufferedReader output) {
        Thread thread = new Thread(
                () -> {
                    try {
                        output.transferTo(Writer.nullWriter());
                    } catch (IOException e) {
                        // The pipe of a killed process is closed.
                    }
                },
                "service-output");
        thread.setDaemon(true);
        thread.start();
    }

    /** As {@code kill -9}. */
    public void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /** As {@code kill}. */
    public void terminate() throws InterruptedException {
        process.destroy();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    public URI uri() {
        return URI.create("http://127.0.0.1:" + port);
    }

    /** The token of the project {@code default}. */
    public String token() {
        return token;
    }

    /** A command line of the client, with this service and its token in its environment. */
    public ProcessBuilder client(String... arguments) throws IOException {
        ProcessBuilder builder = java(List.of(), Arrays.asList(arguments));
        builder.environment().put("ANNALS_URL", uri().toString());
        builder.environment().put("ANNALS_TOKEN", token);
        return builder;
    }

    private static ProcessBuilder java(List<String> options, List<String> arguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(options);
        command.addAll(List.of("-jar", JAR.toAbsolutePath().toString()));
        command.addAll(arguments);
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().keySet().removeIf(name -> name.startsWith("ANNALS_"));
        return builder;
    }

    @Override
    public void close() {
        // In order, so that the database goes too.
        process.destroy();
        assertThat(process.onExit()).succeedsWithin(Duration.ofSeconds(60));
    }
}
