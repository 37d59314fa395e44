package dev.annals.edges.delivery;

import com.sun.net.httpserver.HttpServer;
import dev.annals.Await;
import dev.annals.Ports;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A webhook in a process of its own: it acknowledges a batch once it has written it to a file, with the time before it. */
final class WebhookProcess implements AutoCloseable {

    private final int port = Ports.free();
    private final Path file;
    private Process process;

    /** Starts it. */
    WebhookProcess(Path file) throws Exception {
        this.file = file;
        start();
    }

    /**
     * The process itself.
     *
     * @param arguments the port and the file
     */
    public static void main(String... arguments) throws IOException {
        Path file = Path.of(arguments[1]);
        cutUnfinishedLine(file);
        OutputStream out = Files.newOutputStream(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        HttpServer server = HttpServer.create(
                new InetSocketAddress(
                        InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), Integer.parseInt(arguments[0])),
                0);
        // One request after the other, as the file has them.
        server.createContext("/", exchange -> {
            try (exchange) {
                byte[] body = exchange.getRequestBody().readAllBytes();
                if (body.length != Integer.parseInt(exchange.getRequestHeaders().getFirst("Content-Length"))) {
                    return; // the sender was killed
                }
                ByteArrayOutputStream line = new ByteArrayOutputStream();
                line.write((System.currentTimeMillis() + " ").getBytes(StandardCharsets.US_ASCII));
                // Those of a body are between records, not in them.
                line.write(new String(body, StandardCharsets.UTF_8)
                        .replace('\n', ' ')
                        .getBytes(StandardCharsets.UTF_8));
                line.write('\n');
                out.write(line.toByteArray());
                exchange.sendResponseHeaders(204, -1);
            }
        });
        server.start();
    }

    /** It was killed in the middle of it, and had not acknowledged it. */
    private static void cutUnfinishedLine(Path file) throws IOException {
        if (!Files.exists(file)) {
            return;
        }
        try (RandomAccessFile opened = new RandomAccessFile(file.toFile(), "rw")) {
            long end = opened.length();
            while (end > 0) {
                opened.seek(end - 1);
                if (opened.read() == '\n') {
                    break;
                }
                end--;
            }
            opened.setLength(end);
        }
    }

    void start() throws Exception {
        process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-cp",
                        System.getProperty("java.class.path"),
                        WebhookProcess.class.getName(),
                        Integer.toString(port),
                        file.toString())
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        Await.until("the webhook listens", () -> Ports.isListening(port));
    }

    /** With SIGKILL. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    String url() {
        return "http://127.0.0.1:" + port + "/hook";
    }

    @Override
    public void close() {
        process.destroyForcibly().onExit().join();
    }
}
