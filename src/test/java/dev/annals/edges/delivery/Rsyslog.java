package dev.annals.edges.delivery;

import static dev.annals.Tools.need;

import dev.annals.Await;
import dev.annals.Ports;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * An rsyslog that listens for TCP and TLS, and writes each message into a file before it reads on.
 */
public final class Rsyslog implements AutoCloseable {

    private static final Path PROGRAM = Path.of("/usr/sbin/rsyslogd");

    public final int tcp = Ports.free();
    final int tls = Ports.free();
    /** Its own, for the name {@code localhost}. */
    final Certificate certificate;

    private final Path directory;
    private final Path configuration;
    private Process process;

    /** @param driver of TLS: ossl or gtls */
    public Rsyslog(Path directory, String driver) throws Exception {
        need(Files.isExecutable(PROGRAM), "rsyslog");
        this.directory = directory;
        certificate = new Certificate(directory);
        configuration = Files.writeString(
                directory.resolve("rsyslog.conf"),
                String.join(
                        "\n",
                        "global(workDirectory=\"" + directory + "\" defaultNetstreamDriver=\"" + driver + "\"",
                        "  defaultNetstreamDriverCAFile=\"" + certificate.pem() + "\"",
                        "  defaultNetstreamDriverCertFile=\"" + certificate.pem() + "\"",
                        "  defaultNetstreamDriverKeyFile=\"" + certificate.key() + "\")",
                        "module(load=\"imtcp\")",
                        "module(load=\"mmpstrucdata\")",
                        "template(name=\"raw\" type=\"string\" string=\"%rawmsg%\\n\")",
                        "template(name=\"timed\" type=\"string\" string=\"%timegenerated:::date-rfc3339% %rawmsg%\\n\")",
                        "template(name=\"parsed\" type=\"string\" string=\"%jsonmesg%\\n\")",
                        ruleset("tcp"),
                        ruleset("tls"),
                        "input(type=\"imtcp\" address=\"127.0.0.1\" port=\"" + tcp + "\" ruleset=\"tcp\"",
                        "  streamdriver.name=\"ptcp\" streamdriver.mode=\"0\")",
                        "input(type=\"imtcp\" address=\"127.0.0.1\" port=\"" + tls + "\" ruleset=\"tls\"",
                        "  streamdriver.name=\"" + driver
                                + "\" streamdriver.mode=\"1\" streamdriver.authmode=\"anon\")",
                        ""));
        start();
    }

    private String ruleset(String name) {
        return "ruleset(name=\"" + name + "\" queue.type=\"direct\") {\n"
                + "  action(type=\"omfile\" file=\"" + directory + "/" + name + ".raw\" template=\"raw\")\n"
                + "  action(type=\"omfile\" file=\"" + directory + "/" + name + ".timed\" template=\"timed\")\n"
                + "  action(type=\"mmpstrucdata\")\n"
                + "  action(type=\"omfile\" file=\"" + directory + "/" + name + ".parsed\" template=\"parsed\")\n}";
    }

    void start() throws Exception {
        process = new ProcessBuilder(
                        PROGRAM.toString(), "-n", "-f", configuration.toString(), "-i", directory + "/rsyslog.pid")
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("rsyslog.log").toFile())
                .start();
        Await.until(
                "rsyslog listens: " + directory.resolve("rsyslog.log"),
                () -> Ports.isListening(tcp) && Ports.isListening(tls));
    }

    /** With SIGKILL. */
    void kill() throws Exception {
        process.destroyForcibly().waitFor();
        Files.deleteIfExists(directory.resolve("rsyslog.pid"));
    }

    /**
     * The lines that it has written.
     *
     * @param name tcp or tls, a dot, and raw, parsed or timed: with the time before it
     */
    List<String> lines(String name) throws IOException {
        Path file = directory.resolve(name);
        return Files.exists(file)
                ? new String(Files.readAllBytes(file), StandardCharsets.UTF_8)
                        .lines()
                        .toList()
                : List.of();
    }

    @Override
    public void close() {
        process.destroyForcibly().onExit().join();
    }
}
