package dev.annals.tools.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture;
import dev.annals.ServiceProcess;
import dev.annals.SqlFixture;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.ops.Verify;
import java.io.PrintWriter;
import java.io.StringWriter;
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
        Map<String, String> settings = Map.of(
                "ANNALS_DATABASE_URL", database.withPassword(), "ANNALS_ADMIN_TOKEN", AuditLogFixture.ADMIN_TOKEN);
        try (ServiceProcess service = ServiceProcess.start(settings).awaitListening()) {
            String token = service.newProject(AuditLogFixture.ADMIN_TOKEN, "read", "write")
                    .token();
            CompletableFuture<?>[] senders = IntStream.range(0, SENDERS)
                    .mapToObj(sender -> send(service, token, sender % 4 == 0 ? LONG_APPEND : 1))
                    .toArray(CompletableFuture<?>[]::new);
            assertThat(warm.await(60, TimeUnit.SECONDS)).isTrue();
            int answeredBefore = sent.size();

            service.process().destroy();

            CompletableFuture.allOf(senders).get(60, TimeUnit.SECONDS);
            assertThat(service.process().waitFor(END_LIMIT.toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
            assertThat(sent.size())
                    .as("appends that were under way at the signal, or sent after it")
                    .isGreaterThan(answeredBefore);
            assertThat(service.output).noneMatch(line -> line.contains(" ERROR "));
        }
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

    /** Sends one append after the other until one is not taken. */
    private CompletableFuture<?> send(ServiceProcess service, String token, int records) {
        List<UUID> ids = Stream.generate(UUID::randomUUID).limit(records).toList();
        HttpRequest request = HttpRequest.newBuilder(service.uri(AuditLogFixture.BATCH))
                .header("Authorization", "Bearer " + token)
                .header("Content-Type", "application/json")
                .timeout(Duration.ofSeconds(45))
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
