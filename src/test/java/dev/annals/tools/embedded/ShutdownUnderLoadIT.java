package dev.annals.tools.embedded;

import static dev.annals.AuditLogFixture.LOGS;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.annals.AuditLogFixture;
import dev.annals.ServiceProcess;
import dev.annals.SqlFixture;
import dev.annals.derived.proof.MasterKey;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.ops.Verify;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The packaged service is told to stop while it is busy. */
@Timeout(180)
class ShutdownUnderLoadIT {

    private static final int SENDERS = 32;
    private static final int ANSWERS_BEFORE_THE_SIGNAL = 300;
    private static final int LONG_APPEND = 50;
    /** The service's own shutdown timeout of 20 s, and what the pools and the process take to go. */
    private static final Duration END_LIMIT = Duration.ofSeconds(40);

    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final CountDownLatch warm = new CountDownLatch(ANSWERS_BEFORE_THE_SIGNAL);
    private final Queue<Sent> sent = new ConcurrentLinkedQueue<>();

    /** An append and what its sender knows of it: the status of its answer, or 0 where none came. */
    private record Sent(List<UUID> ids, int status) {}

    @Test
    void everyAnsweredAppendIsStoredAndEveryOtherIsStoredOnceOrNotAtAll() throws Exception {
        DatabaseUrl database = TestDatabase.createDatabase();
        // Everything that runs by itself runs often.
        Map<String, String> settings = new HashMap<>(Map.of(
                "ANNALS_DATABASE_URL",
                database.withPassword(),
                "ANNALS_ADMIN_TOKEN",
                AuditLogFixture.ADMIN_TOKEN,
                "ANNALS_LOG_KEY",
                MasterKey.draw().secretText(),
                "ANNALS_LOG_INTERVAL",
                "1ms",
                "ANNALS_RETENTION_INTERVAL",
                "100ms",
                "ANNALS_STREAMS_ALLOWED_HOSTS",
                "127.0.0.1",
                "ANNALS_STREAMS_KEY",
                "1".repeat(64),
                "ANNALS_STREAMS_LEASE",
                "300ms",
                "ANNALS_VERIFICATION_INTERVAL",
                "1s"));
        HttpServer sink = sink();
        try (ServiceProcess service = ServiceProcess.start(settings).awaitListening()) {
            String token = service.newProject(AuditLogFixture.ADMIN_TOKEN, "read", "write", "stream")
                    .token();
            String hook = "{\"sink\": {\"type\": \"webhook\", \"url\": \"http://127.0.0.1:"
                    + sink.getAddress().getPort() + "/\", \"secret\": \"whsec_" + "A".repeat(32) + "\"}}";
            assertThat(client.send(
                                    request(service, "/v1/streams/hook", token)
                                            .PUT(HttpRequest.BodyPublishers.ofString(hook))
                                            .build(),
                                    HttpResponse.BodyHandlers.ofString())
                            .body())
                    .contains("\"hook\"");
            List.of(
                            "",
                            "/log/1/checkpoint",
                            "?wait=30s&after=0",
                            "/export?format=ndjson",
                            "/facets?fields=action",
                            "/statistics")
                    .forEach(path -> read(service, LOGS + path, token, ""));
            read(service, LOGS, token, "text/event-stream");
            CompletableFuture<?>[] senders = IntStream.range(0, SENDERS)
                    .mapToObj(sender -> send(service, token, sender % 4 == 0 ? LONG_APPEND : 1))
                    .toArray(CompletableFuture<?>[]::new);
            assertThat(warm.await(60, TimeUnit.SECONDS)).isTrue();
            int answeredBefore = sent.size();
            int linesBefore = service.output.size();

            service.process().destroy();

            CompletableFuture.allOf(senders).get(60, TimeUnit.SECONDS);
            assertThat(service.process().waitFor(END_LIMIT.toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
            assertThat(sent.size())
                    .as("appends that were under way at the signal, or sent after it")
                    .isGreaterThan(answeredBefore);
            service.awaitEnd();
            assertThat(service.output.subList(linesBefore, service.output.size()))
                    .noneMatch(line -> line.contains(" ERROR ") || line.contains(" WARN ") || line.startsWith("\tat "));
        }
        sink.stop(0);
        assertThatWhatWasAnsweredIsStored(database);
        StringWriter findings = new StringWriter();
        assertThat(new Verify().run(database, new PrintWriter(findings)))
                .as(findings.toString())
                .isZero();
    }

    private void assertThatWhatWasAnsweredIsStored(DatabaseUrl database) throws Exception {
        Map<UUID, Integer> stored = new HashMap<>();
        for (String id : SqlFixture.on(database).texts("select id from annals.feed")) {
            stored.merge(UUID.fromString(id), 1, Integer::sum);
        }
        assertThat(stored.values()).allMatch(times -> times == 1);
        for (Sent append : sent) {
            long present = append.ids().stream().filter(stored::containsKey).count();
            if (append.status() == 201) {
                assertThat(present)
                        .as("answered with 201")
                        .isEqualTo(append.ids().size());
            } else if (append.status() == 0) {
                assertThat(present).as("not answered").isIn(0L, (long)
                        append.ids().size());
            } else {
                assertThat(present).as("answered with " + append.status()).isZero();
            }
        }
    }

    private static HttpServer sink() throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            exchange.getRequestBody().readAllBytes();
            exchange.sendResponseHeaders(204, -1);
            exchange.close();
        });
        server.start();
        return server;
    }

    private static HttpRequest.Builder request(ServiceProcess service, String path, String token) {
        return HttpRequest.newBuilder(service.uri(path))
                .header("Authorization", "Bearer " + token)
                .header("Content-Type", "application/json")
                .timeout(Duration.ofSeconds(45));
    }

    /** Reads again and again until the service has gone. */
    private void read(ServiceProcess service, String path, String token, String accept) {
        HttpRequest.Builder request = request(service, path, token);
        if (!accept.isEmpty()) {
            request.header("Accept", accept);
        }
        client.sendAsync(request.build(), HttpResponse.BodyHandlers.ofString()).thenAccept(answer -> {
            if (answer.statusCode() != 503 || service.process().isAlive()) {
                read(service, path, token, accept);
            }
        });
    }

    /** Sends one append after the other until one is not taken. */
    private CompletableFuture<?> send(ServiceProcess service, String token, int records) {
        List<UUID> ids = Stream.generate(UUID::randomUUID).limit(records).toList();
        HttpRequest request = request(service, AuditLogFixture.BATCH, token)
                .POST(HttpRequest.BodyPublishers.ofString(ids.stream()
                        .map(id -> "{\"id\": \"" + id + "\", \"action\": \"under_load\"}")
                        .collect(Collectors.joining(", ", "{\"records\": [", "]}"))))
                .build();
        return client.sendAsync(request, HttpResponse.BodyHandlers.ofString())
                .handle((answer, failure) -> failure == null ? answer.statusCode() : 0)
                .thenCompose(status -> {
                    sent.add(new Sent(ids, status));
                    warm.countDown();
                    return status == 201 ? send(service, token, records) : CompletableFuture.completedFuture(null);
                });
    }
}
