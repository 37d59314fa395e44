package dev.annals;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The packaged service with a database of its own, that can be stopped and started again on its port. */
public final class PackagedService implements AutoCloseable {

    private static final Pattern TOKEN = Pattern.compile("export ANNALS_TOKEN=(\\S+)");

    private final Path data;
    private final List<String> javaOptions;
    private final String token;
    private volatile ServiceProcess process;

    /** Starts it with these options of the Java machine. */
    public PackagedService(Path data, String... javaOptions) throws IOException {
        this.data = data;
        this.javaOptions = List.of(javaOptions);
        process = start(0);
        // Only the first start prints it.
        Matcher printed = TOKEN.matcher(String.join("\n", process.output));
        if (!printed.find()) {
            close();
            throw new AssertionError("no token in\n" + String.join("\n", process.output));
        }
        token = printed.group(1);
    }

    /** Starts it again, and waits until it listens. */
    public void restart() throws IOException {
        process = start(uri().getPort());
    }

    private ServiceProcess start(int port) throws IOException {
        Map<String, String> settings =
                Map.of("ANNALS_DATA_DIR", data.toString(), "ANNALS_PORT", Integer.toString(port));
        return ServiceProcess.start(ServiceProcess.command(javaOptions), settings)
                .awaitListening();
    }

    /** As {@code kill -9}. */
    public void kill() {
        process.close();
    }

    /** As {@code kill}: it stops its database, too. */
    public void terminate() throws InterruptedException {
        process.process().destroy();
        process.awaitEnd();
    }

    public boolean isAlive() {
        return process.process().isAlive();
    }

    public URI uri() {
        return process.uri("");
    }

    /** The token of the project {@code default}. */
    public String token() {
        return token;
    }

    /** A command line of the client, with this service and its token in its environment. */
    public ProcessBuilder client(String... arguments) throws IOException {
        ProcessBuilder builder = ServiceProcess.command(List.of(), arguments);
        builder.environment().put("ANNALS_URL", uri().toString());
        builder.environment().put("ANNALS_TOKEN", token);
        return builder;
    }

    @Override
    public void close() {
        try {
            terminate();
        } catch (InterruptedException e) {
            kill();
            Thread.currentThread().interrupt();
        }
    }
}
