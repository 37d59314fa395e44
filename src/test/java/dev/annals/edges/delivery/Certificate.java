package dev.annals.edges.delivery;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/** A new self-signed certificate. */
final class Certificate {

    private static final String PASSWORD = "changeit";
    private static final String ALIAS = "localhost";

    private final Path directory;
    private final KeyStore keys = KeyStore.getInstance("PKCS12");

    /** Makes one for {@code localhost}, with its files in {@code directory}. */
    Certificate(Path directory) throws GeneralSecurityException, IOException, InterruptedException {
        this(directory, "localhost");
    }

    /** @param name the common name */
    Certificate(Path directory, String name) throws GeneralSecurityException, IOException, InterruptedException {
        this.directory = directory.toAbsolutePath();
        keytool("-genkeypair -keyalg RSA -keysize 2048 -dname CN=" + name
                + " -ext san=dns:localhost -keystore keys.p12");
        try (InputStream file = Files.newInputStream(this.directory.resolve("keys.p12"))) {
            keys.load(file, PASSWORD.toCharArray());
        }
        write(pem(), "CERTIFICATE", keys.getCertificate(ALIAS).getEncoded());
        write(key(), "PRIVATE KEY", keys.getKey(ALIAS, PASSWORD.toCharArray()).getEncoded());
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry(ALIAS, keys.getCertificate(ALIAS));
        try (OutputStream file = Files.newOutputStream(trusted())) {
            trusted.store(file, PASSWORD.toCharArray());
        }
    }

    private static void write(Path file, String what, byte[] encoded) throws IOException {
        String lines = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(encoded);
        Files.writeString(file, "-----BEGIN " + what + "-----\n" + lines + "\n-----END " + what + "-----\n");
    }

    private void keytool(String arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
        command.addAll(List.of(arguments.split(" ", -1)));
        command.addAll(List.of(
                "-J-XX:TieredStopAtLevel=1",
                "-J-XX:+UseSerialGC",
                "-alias",
                ALIAS,
                "-storetype",
                "PKCS12",
                "-storepass",
                PASSWORD));
        Process keytool = new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .start();
        String output = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(keytool.waitFor()).as(output).isZero();
    }

    /** Others trust it by this store. */
    Path trusted() {
        return directory.resolve("trusted.p12");
    }

    static String trustedPassword() {
        return PASSWORD;
    }

    Path pem() {
        return directory.resolve("certificate.pem");
    }

    Path key() {
        return directory.resolve("key.pem");
    }

    /** The options with which a JVM trusts only this certificate. */
    String trusting() {
        return "-Djavax.net.ssl.trustStore=" + trusted() + " -Djavax.net.ssl.trustStorePassword=" + PASSWORD;
    }

    /** For a server that has it. */
    SSLContext serving() throws GeneralSecurityException {
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(keys, PASSWORD.toCharArray());
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(factory.getKeyManagers(), null, null);
        return context;
    }
}
