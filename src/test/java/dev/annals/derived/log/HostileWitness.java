package dev.annals.derived.log;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.annals.proof.Note;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.MessageDigest;
import java.security.Signature;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** A witness on this machine that answers as a test says. */
public final class HostileWitness implements AutoCloseable {

    public static final String NAME = "witness.example/hostile";

    private final KeyPair keys;
    private final byte[] id;
    private final String vkey;
    private final HttpServer server;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final CountDownLatch end = new CountDownLatch(1);
    private volatile Behaviour behaviour = HostileWitness::cosign;
    /** The number of requests. */
    final AtomicInteger calls = new AtomicInteger();

    /** The answer to a checkpoint. */
    interface Behaviour {
        void answer(HostileWitness witness, HttpExchange exchange, Note note) throws Exception;
    }

    public HostileWitness() throws Exception {
        keys = KeyPairGenerator.getInstance("Ed25519").generateKeyPair();
        byte[] encoded = keys.getPublic().getEncoded();
        byte[] key = Arrays.copyOfRange(encoded, encoded.length - 32, encoded.length);
        byte[] typed = ByteBuffer.allocate(33).put((byte) 4).put(key).array();
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        digest.update((NAME + "\n").getBytes(StandardCharsets.UTF_8));
        id = Arrays.copyOf(digest.digest(typed), 4);
        vkey = NAME + "+" + HexFormat.of().formatHex(id) + "+"
                + Base64.getEncoder().encodeToString(typed);
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/secret-path/add-checkpoint", this::handle);
        server.start();
    }

    public String vkey() {
        return vkey;
    }

    String setting() {
        return vkey + " http://127.0.0.1:" + server.getAddress().getPort() + "/secret-path/";
    }

    void behave(Behaviour next) {
        behaviour = next;
    }

    private void handle(HttpExchange exchange) {
        calls.incrementAndGet();
        try (exchange) {
            String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            behaviour.answer(this, exchange, Note.parse(body.substring(body.indexOf("\n\n") + 2)));
        } catch (Exception e) {
            // The client has closed the connection.
        }
    }

    static void answer(HttpExchange exchange, int status, String body) throws IOException {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
        exchange.getResponseBody().write(bytes);
    }

    /** Answers as an honest witness. */
    static void cosign(HostileWitness witness, HttpExchange exchange, Note note) throws Exception {
        answer(exchange, 200, witness.line(note.text(), Instant.now()));
    }

    /** The line of a cosignature. */
    public String line(String text, Instant at) throws GeneralSecurityException {
        Signature signer = Signature.getInstance("Ed25519");
        signer.initSign(keys.getPrivate());
        signer.update(("cosignature/v1\ntime " + at.getEpochSecond() + "\n" + text).getBytes(StandardCharsets.UTF_8));
        byte[] line = ByteBuffer.allocate(4 + 8 + 64)
                .put(id)
                .putLong(at.getEpochSecond())
                .put(signer.sign())
                .array();
        return "\u2014 " + NAME + " " + Base64.getEncoder().encodeToString(line) + "\n";
    }

    /** Sends a byte from time to time, without end. */
    void drip(HttpExchange exchange) throws Exception {
        exchange.sendResponseHeaders(200, 0);
        OutputStream out = exchange.getResponseBody();
        while (end.getCount() > 0) {
            out.write('\n');
            out.flush();
            Thread.sleep(50);
        }
    }

    /** Sends without end. */
    static void flood(HttpExchange exchange) throws IOException {
        exchange.sendResponseHeaders(200, 0);
        byte[] lines = "\u2014 a AAAAAAAA\n".repeat(1000).getBytes(StandardCharsets.UTF_8);
        for (int i = 0; i < 100_000; i++) {
            exchange.getResponseBody().write(lines);
        }
    }

    /** Sends no answer until the witness is closed. */
    void hang() throws InterruptedException {
        end.await();
    }

    @Override
    public void close() {
        end.countDown();
        server.stop(0);
        threads.shutdownNow();
    }
}
