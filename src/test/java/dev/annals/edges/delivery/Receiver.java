package dev.annals.edges.delivery;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** A webhook of the tests' own: a real HTTP server that checks signatures, and answers as a test says. */
final class Receiver implements AutoCloseable {

    static final String SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
    private static final ObjectMapper JSON = new ObjectMapper();

    /** The answers. */
    record Answer(int status, Map<String, String> headers, long delayMillis) {

        static final Answer OK = of(204);

        static Answer of(int status) {
            return new Answer(status, Map.of(), 0);
        }
    }

    /** A request with a good signature. */
    record Delivered(String id, String contentType, String path, JsonNode body, Answer answer) {

        /** The sequence ids of a batch in the format {@code json}. */
        List<Long> sequenceIds() {
            List<Long> ids = new ArrayList<>();
            body.path("records")
                    .forEach(record -> ids.add(record.path("sequence_id").longValue()));
            return ids;
        }
    }

    /** All requests with good signatures, in the order in which they came. */
    final List<Delivered> requests = Collections.synchronizedList(new ArrayList<>());

    final List<String> faults = Collections.synchronizedList(new ArrayList<>());
    /** The number of requests under way, and the most at a time. */
    final AtomicInteger open = new AtomicInteger();

    final AtomicInteger mostOpen = new AtomicInteger();

    volatile Function<Delivered, Answer> behaviour = request -> Answer.OK;

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final HttpServer server;

    Receiver() throws IOException {
        this(0);
    }

    Receiver(int port) throws IOException {
        this(HttpServer.create(address(port), 0));
    }

    private Receiver(HttpServer server) {
        this.server = server;
        server.createContext("/", this::handle);
        server.setExecutor(threads);
        server.start();
    }

    /** One with TLS. */
    static Receiver with(Certificate certificate) throws IOException, GeneralSecurityException {
        HttpsServer server = HttpsServer.create(address(0), 0);
        server.setHttpsConfigurator(new HttpsConfigurator(certificate.serving()));
        return new Receiver(server);
    }

    private static InetSocketAddress address(int port) throws IOException {
        return new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), port);
    }

    int port() {
        return server.getAddress().getPort();
    }

    String url() {
        return "http://127.0.0.1:" + port() + "/hook";
    }

    private void handle(HttpExchange exchange) throws IOException {
        mostOpen.accumulateAndGet(open.incrementAndGet(), Math::max);
        try (exchange) {
            byte[] body = exchange.getRequestBody().readAllBytes();
            String id = exchange.getRequestHeaders().getFirst("webhook-id");
            if (!isSigned(exchange, id, body)) {
                faults.add("a wrong signature of " + id);
                exchange.sendResponseHeaders(401, -1);
                return;
            }
            Delivered request = new Delivered(
                    id,
                    exchange.getRequestHeaders().getFirst("Content-Type"),
                    exchange.getRequestURI().toString(),
                    JSON.readTree(body),
                    Answer.OK);
            Answer answer = behaviour.apply(request);
            requests.add(new Delivered(id, request.contentType(), request.path(), request.body(), answer));
            if (answer.delayMillis() > 0) {
                Thread.sleep(answer.delayMillis());
            }
            answer.headers().forEach(exchange.getResponseHeaders()::add);
            exchange.sendResponseHeaders(answer.status(), -1);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            open.decrementAndGet();
        }
    }

    /** As a receiver would check it that knows Standard Webhooks and nothing of this service. */
    private static boolean isSigned(HttpExchange exchange, String id, byte[] body) {
        try {
            String seconds = exchange.getRequestHeaders().getFirst("webhook-timestamp");
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(Base64.getDecoder().decode(SECRET.substring(6)), "HmacSHA256"));
            mac.update((id + "." + seconds + ".").getBytes(StandardCharsets.UTF_8));
            String expected = "v1," + Base64.getEncoder().encodeToString(mac.doFinal(body));
            return Math.abs(System.currentTimeMillis() / 1000 - Long.parseLong(seconds)) < 60
                    && MessageDigest.isEqual(
                            expected.getBytes(StandardCharsets.UTF_8),
                            exchange.getRequestHeaders()
                                    .getFirst("webhook-signature")
                                    .getBytes(StandardCharsets.UTF_8));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The records of the acknowledged batches, without repeated batches. */
    List<Long> taken() {
        List<Long> taken = new ArrayList<>();
        long last = 0;
        for (Delivered request : List.copyOf(requests)) {
            if (request.answer().status() / 100 == 2) {
                for (long id : request.sequenceIds()) {
                    if (id > last) {
                        taken.add(id);
                        last = id;
                    }
                }
            }
        }
        return taken;
    }

    /**
     * Every request begins at or before the record behind what was acknowledged: nothing is left out, whatever comes twice; and within a
     * request ids only grow.
     */
    void checkOrder() {
        long acknowledged = 0;
        for (Delivered request : List.copyOf(requests)) {
            List<Long> ids = request.sequenceIds();
            assertThat(ids).as(request.id()).isSorted().doesNotHaveDuplicates();
            if (!ids.isEmpty()) {
                assertThat(ids.get(0)).as(request.id()).isLessThanOrEqualTo(acknowledged + 1);
                if (request.answer().status() / 100 == 2) {
                    acknowledged = Math.max(acknowledged, ids.get(ids.size() - 1));
                }
            }
        }
        assertThat(faults).isEmpty();
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
