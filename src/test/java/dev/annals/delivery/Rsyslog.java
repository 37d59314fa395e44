package dev.annals.delivery;

import static dev.annals.Tools.need;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Await;
import dev.annals.Ports;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * An rsyslog that listens for TCP and TLS, and writes each message into a file before it reads on. It has a certificate of its own for
 * the name {@code localhost}.
 */
final class Rsyslog implements AutoCloseable {

    private static final Path PROGRAM = Path.of("/usr/sbin/rsyslogd");
    static final String PASSWORD = "changeit";

    final int tcp = Ports.free();
    final int tls = Ports.free();
    private final Path directory;
    private final Path configuration;
    private Process process;

    /** @param driver of TLS: ossl or gtls */
    Rsyslog(Path directory, String driver) throws Exception {
        need(Files.isExecutable(PROGRAM), "rsyslog");
        this.directory = directory;
        makeCertificate();
        configuration = Files.writeString(
                directory.resolve("rsyslog.conf"),
                String.join(
                        "\n",
                        "global(workDirectory=\"" + directory + "\" defaultNetstreamDriver=\"" + driver + "\"",
                        "  defaultNetstreamDriverCAFile=\"" + directory + "/certificate.pem\"",
                        "  defaultNetstreamDriverCertFile=\"" + directory + "/certificate.pem\"",
                        "  defaultNetstreamDriverKeyFile=\"" + directory + "/key.pem\")",
                        "module(load=\"imtcp\")",
                        "module(load=\"mmpstrucdata\")",
                        "template(name=\"raw\" type=\"string\" string=\"%rawmsg%\\n\")",
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
                + "  action(type=\"mmpstrucdata\")\n"
                + "  action(type=\"omfile\" file=\"" + directory + "/" + name + ".parsed\" template=\"parsed\")\n}";
    }

    private void makeCertificate() throws Exception {
        run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
                + " -addext subjectAltName=DNS:localhost -keyout key.pem -out certificate.pem");
        run(Path.of(System.getProperty("java.home"), "bin", "keytool")
                + " -importcert -noprompt -alias rsyslog -storepass " + PASSWORD + " -file certificate.pem -keystore "
                + trusted());
    }

    /** A store with its certificate alone. */
    Path trusted() {
        return directory.resolve("trusted.p12").toAbsolutePath();
    }

    private void run(String command) throws Exception {
        Process run = new ProcessBuilder(command.split(" ", -1))
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .start();
        String output = new String(run.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(run.waitFor()).as(output).isZero();
    }

    void start() throws Exception {
        process = new ProcessBuilder(
                        PROGRAM.toString(), "-n", "-f", configuration.toString(), "-i", directory + "/rsyslog.pid")
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("rsyslog.log").toFile())
                .start();
        Await.until("rsyslog listens: " + directory.resolve("rsyslog.log"), () -> isListening(tcp) && isListening(tls));
    }

    private static boolean isListening(int port) {
        try (Socket socket = new Socket(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), port)) {
            return socket.isConnected();
        } catch (IOException e) {
            return false;
        }
    }

    /** With SIGKILL. */
    void kill() throws Exception {
        process.destroyForcibly().waitFor();
        Files.deleteIfExists(directory.resolve("rsyslog.pid"));
    }

    /**
     * What it has written.
     *
     * @param name tcp or tls, a dot, and raw or parsed
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
        process.destroyForcibly();
    }
}
