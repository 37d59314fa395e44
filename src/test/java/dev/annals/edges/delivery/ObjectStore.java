package dev.annals.edges.delivery;

import dev.annals.Await;
import dev.annals.Ports;
import dev.annals.derived.log.GoPrograms;
import java.nio.file.Files;
import java.nio.file.Path;

/** An S3-compatible store in a process of its own, Versity's gateway, with one bucket and with files as its objects. */
public final class ObjectStore implements AutoCloseable {

    static final String ACCESS_KEY = "AKIDEXAMPLE";
    static final String REGION = "eu-central-1";
    static final String SECRET_KEY = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    /** The secret of streams to it. */
    public static final String KEYS = ACCESS_KEY + ":" + SECRET_KEY;

    /** The folder of the bucket's objects. */
    final Path bucket;

    private final Path directory;
    private final int port = Ports.free();
    private Process process;

    /** Starts it with its files in {@code directory}. It can make buckets that lock objects. */
    public ObjectStore(Path directory) throws Exception {
        this.directory = directory;
        bucket = Files.createDirectories(directory.resolve("buckets/bucket"));
        Files.createDirectories(directory.resolve("versions"));
        start();
    }

    void start() throws Exception {
        ProcessBuilder gateway = new ProcessBuilder(
                        GoPrograms.versitygw().toString(),
                        "--region",
                        REGION,
                        "--port",
                        "127.0.0.1:" + port,
                        "posix",
                        "--versioning-dir",
                        directory.resolve("versions").toString(),
                        directory.resolve("buckets").toString())
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD);
        gateway.environment().put("ROOT_ACCESS_KEY", ACCESS_KEY);
        gateway.environment().put("ROOT_SECRET_KEY", SECRET_KEY);
        process = gateway.start();
        Await.until("the store listens", () -> Ports.isListening(port));
    }

    /** With SIGKILL. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /**
     * The sink of a stream.
     *
     * @param path the bucket, and a prefix behind a slash
     */
    public String url(String path) {
        return "s3+http://127.0.0.1:" + port + "/" + path + "?region=" + REGION;
    }

    /** Its port. */
    public int port() {
        return port;
    }

    /** The folder of the buckets, with their objects. */
    public Path buckets() {
        return directory.resolve("buckets");
    }

    @Override
    public void close() {
        process.destroyForcibly().onExit().join();
    }
}
