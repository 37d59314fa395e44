package dev.annals.writer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.annals.Answers;
import dev.annals.Await;
import dev.annals.BesideTheService;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The client's behaviour when the service is unwell, or when a proxy answers in its place. */
@BesideTheService
@Timeout(60)
class AuditLogTest {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration LONG = Duration.ofSeconds(50);

    @TempDir
    Path folder;

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final Deque<Answering> answers = new ArrayDeque<>();
    private final List<String> stored = Collections.synchronizedList(new ArrayList<>());
    private final List<String> tokens = Collections.synchronizedList(new ArrayList<>());
    private final CountDownLatch arrived = new CountDownLatch(1);
    private final CountDownLatch held = new CountDownLatch(1);
    private HttpServer server;

    private interface Answering {
        void answer(HttpExchange exchange, List<String> actions) throws IOException;
    }

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/", exchange -> {
            try (exchange) {
                tokens.add(exchange.getRequestHeaders().getFirst("Authorization"));
                JsonNode records = JSON.readTree(exchange.getRequestBody()).get("records");
                List<String> actions = new ArrayList<>();
                records.forEach(record -> actions.add(record.get("action").textValue()));
                if (actions.contains("first")) {
                    arrived.countDown();
                    held.await();
                }
                Answering answering;
                synchronized (answers) {
                    answering = actions.contains("first") ? null : answers.poll();
                }
                if (answering != null) {
                    answering.answer(exchange, actions);
                    return;
                }
                stored.addAll(actions);
                StringBuilder answer = new StringBuilder("{\"results\":[");
                records.forEach(record -> answer.append(record.get("id")).append(','));
                Answers.send(exchange, 201, "application/json", answer + "0]}");
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
        });
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
        threads.shutdownNow();
    }

    @Test
    void nothingIsTakenForStoredThatTheServiceDoesNotName() throws Exception {
        answers.add((exchange, actions) -> Answers.send(exchange, 200, "text/html", "<h1>Sign in</h1>"));
        answers.add((exchange, actions) -> Answers.send(exchange, 201, "application/json", "{\"results\":[]}"));
        answers.add((exchange, actions) -> {
            exchange.getResponseHeaders().add("Location", "http://127.0.0.1:1/");
            Answers.send(exchange, 307, "text/plain", "");
        });
        deliverOne(3);
    }

    @Test
    void nothingIsRefusedThatTheServiceDoesNotRefuse() throws Exception {
        String problem = "{\"type\":\"urn:annals:problem:invalid-record\",\"errors\":[{\"pointer\":\"/records/0/x\"}]}";
        answers.add((exchange, actions) -> Answers.send(exchange, 422, "application/json", problem));
        answers.add((exchange, actions) -> Answers.send(exchange, 413, "text/html", "too large for this proxy"));
        answers.add((exchange, actions) -> Answers.problem(exchange, 401, "unauthorized", ""));
        answers.add((exchange, actions) -> Answers.problem(exchange, 409, "project-closed", ""));
        answers.add((exchange, actions) -> Answers.problem(exchange, 503, "queue-full", ""));
        deliverOne(5);
    }

    @Test
    void answersThatDoNotEndAreCutOff() throws Exception {
        answers.add((exchange, actions) -> {
            exchange.sendResponseHeaders(200, 0);
            byte[] much = new byte[100_000];
            try (OutputStream body = exchange.getResponseBody()) {
                while (true) {
                    body.write(much);
                }
            }
        });
        answers.add((exchange, actions) -> {
            exchange.sendResponseHeaders(200, 0);
            try (OutputStream body = exchange.getResponseBody()) {
                while (true) {
                    body.write(' ');
                    body.flush();
                    Thread.sleep(20);
                }
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
        });
        deliverOne(2);
    }

    private void deliverOne(int retries) throws Exception {
        try (AuditLog log = fast().requestTimeout(Duration.ofSeconds(2)).open()) {
            log.append(AuditRecord.of("one").build()).acknowledgement().get();
            assertThat(log.metrics().retries()).isEqualTo(retries);
            assertThat(log.metrics().refused()).isZero();
        }
        assertThat(stored).containsExactly("one");
    }

    @Test
    void aRefusedRecordIsHandedBackAndTheOthersGoOnInOrder() throws Exception {
        List<Refusal> refusals = Collections.synchronizedList(new ArrayList<>());
        try (AuditLog log = fast().onRefusal(refusals::add).open()) {
            holdFirst(log);
            answers.add(
                    (exchange, actions) -> Answers.problem(exchange, 422, "invalid-record", "/records/1/ip_address"));
            List<Receipt> receipts = new ArrayList<>();
            for (String action : List.of("a", "b", "c")) {
                receipts.add(log.append(AuditRecord.of(action).build()));
            }
            release();
            receipts.get(2).acknowledgement().get();
            assertThatThrownBy(() -> receipts.get(1).acknowledgement().get())
                    .isInstanceOf(ExecutionException.class)
                    .hasCauseInstanceOf(RecordRefusedException.class);
            assertThat(refusals).hasSize(1);
            assertThat(refusals.get(0).json()).contains("\"action\":\"b\"");
            assertThat(refusals.get(0).reason()).contains("/records/1/ip_address");
        }
        assertThat(stored).containsExactly("first", "a", "c");
    }

    @Test
    void whereTheServiceDoesNotSayWhichRecordItIsFoundOut() throws Exception {
        Answering refuseBad = (exchange, actions) -> {
            if (actions.contains("bad")) {
                Answers.problem(exchange, 422, "invalid-record", "");
            }
        };
        try (AuditLog log =
                fast().spool(SpoolOptions.in(folder.resolve("spool"))).open()) {
            holdFirst(log);
            // The whole batch, its first half, its second half, and so on to the one.
            for (int i = 0; i < 3; i++) {
                answers.add(refuseBad);
            }
            for (String action : List.of("bad", "b", "c", "d")) {
                log.append(AuditRecord.of(action).build());
            }
            release();
            assertThat(log.flush(LONG)).isTrue();
            assertThat(log.metrics().refused()).isEqualTo(1);
        }
        assertThat(stored).containsExactly("first", "b", "c", "d");
        assertThat(Files.readString(folder.resolve("spool/refused.ndjson")))
                .contains("{\"reason\":\"Status 422", "\"record\":{\"id\":", "\"action\":\"bad\"");
    }

    @Test
    void aFullBufferTurnsAwayAndLosesNothingThatItTook() throws Exception {
        int taken = 0;
        try (AuditLog log =
                fast().buffer(10, 1 << 20).appendTimeout(Duration.ZERO).open()) {
            holdFirst(log);
            for (int i = 0; i < 9; i++) {
                log.append(AuditRecord.of("more").build());
                taken++;
            }
            assertThatThrownBy(() -> log.append(AuditRecord.of("too much").build()))
                    .isInstanceOf(BufferFullException.class);
            assertThat(log.metrics().turnedAway()).isEqualTo(1);
            release();
            assertThat(log.flush(LONG)).isTrue();
        }
        assertThat(stored).hasSize(taken + 1).doesNotContain("too much");
    }

    @Test
    void whatIsNotStoredAtTheEndIsHandedBack() throws Exception {
        server.stop(0);
        List<Refusal> refusals = Collections.synchronizedList(new ArrayList<>());
        AuditLog log = fast().onRefusal(refusals::add).open();
        Receipt receipt = log.append(AuditRecord.of("late").build());
        Await.until("it was tried", () -> log.metrics().retries() > 0);

        assertThat(log.close(Duration.ofMillis(1))).isFalse();

        assertThat(refusals).hasSize(1);
        assertThat(receipt.acknowledgement()).isCompletedExceptionally();
        assertThatThrownBy(() -> log.append(AuditRecord.of("later").build())).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aLimitOfTimeEndsTheTries() throws Exception {
        server.stop(0);
        List<Refusal> refusals = Collections.synchronizedList(new ArrayList<>());
        try (AuditLog log = fast().onRefusal(refusals::add)
                .giveUpAfter(Duration.ofMillis(50))
                .open()) {
            log.append(AuditRecord.of("late").build());
            assertThat(log.flush(LONG)).isTrue();
        }
        assertThat(refusals.get(0).reason()).startsWith("Given up: There is no answer");
    }

    @Test
    void theTokenIsAskedForEachTimeAndNeverShown() throws Exception {
        Deque<String> given = new ArrayDeque<>(List.of("secret\r\nX: y", "second"));
        try (AuditLog log = AuditLog.to(uri(), given::pop)
                .pauses(Duration.ofMillis(1), Duration.ofMillis(5))
                .open()) {
            Receipt receipt = log.append(AuditRecord.of("one").build());
            receipt.acknowledgement().get();
            assertThat(log.metrics().toString()).doesNotContain("secret");
        }
        assertThat(tokens).containsExactly("Bearer second");
    }

    private AuditLog.Builder fast() {
        return AuditLog.to(uri(), "token").pauses(Duration.ofMillis(1), Duration.ofMillis(5));
    }

    private URI uri() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/");
    }

    /** The first record is under way, and stays so: what is appended now gathers. */
    private void holdFirst(AuditLog log) throws InterruptedException {
        log.append(AuditRecord.of("first").build());
        arrived.await();
    }

    private void release() {
        held.countDown();
    }
}
