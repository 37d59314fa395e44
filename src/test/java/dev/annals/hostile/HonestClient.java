package dev.annals.hostile;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Appends a record, polls until it is there, and begins again. It does what the contract tells a client to: a request that
 * gets no answer or a {@code 503} is sent again, with the same id.
 */
final class HonestClient implements AutoCloseable {

    private static final int ROUNDS = 5;
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final long PAUSE_MILLIS = 50;
    private static final ObjectMapper JSON = new ObjectMapper();

    private final URI service;
    private final String token;
    private final HttpClient http =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final CountDownLatch stop = new CountDownLatch(1);
    private final List<UUID> read = new ArrayList<>();
    private final Thread thread = new Thread(this::run, "honest client");
    private @Nullable Throwable failure;

    HonestClient(URI service, String token) {
        this.service = service;
        this.token = token;
        thread.start();
    }

    private void run() {
        try {
            String pollMore = page("/v1/project-logs").get("poll_more").textValue();
            while (stop.getCount() > 0) {
                UUID id = UUID.randomUUID();
                append(id);
                JsonNode page = page(pollMore);
                while (page.get("results").isEmpty()) {
                    page = page(pollMore);
                }
                synchronized (this) {
                    read.add(id);
                    assertThat(page.get("results")).hasSize(1);
                    assertThat(page.at("/results/0/id").textValue()).isEqualTo(id.toString());
                    assertThat(page.at("/results/0/sequence_id").asInt()).isEqualTo(read.size());
                    notifyAll();
                }
                pollMore = page.get("poll_more").textValue();
                pause();
            }
        } catch (InterruptedException | IOException | RuntimeException | AssertionError e) {
            synchronized (this) {
                failure = e;
                notifyAll();
            }
        }
    }

    private void append(UUID id) throws IOException, InterruptedException {
        HttpRequest.Builder append = request("/v1/project-logs")
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString("{\"id\": \"" + id + "\", \"action\": \"honest\"}"));
        answer(append, Set.of(200, 201));
    }

    /** A page of the feed. */
    JsonNode page(String url) throws IOException, InterruptedException {
        return answer(request(url), Set.of(200));
    }

    private HttpRequest.Builder request(String url) {
        return HttpRequest.newBuilder(service.resolve(url))
                .timeout(PATIENCE)
                .header("Authorization", "Bearer " + token);
    }

    private JsonNode answer(HttpRequest.Builder request, Set<Integer> good) throws IOException, InterruptedException {
        while (true) {
            try {
                HttpResponse<byte[]> answer = http.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
                if (good.contains(answer.statusCode())) {
                    return JSON.readTree(answer.body());
                }
                JsonNode problem = JSON.readTree(answer.body());
                assertThat(answer.statusCode()).as(problem.toString()).isEqualTo(503);
            } catch (IOException e) {
                if (stop.getCount() == 0) {
                    throw e;
                }
            }
            pause();
        }
    }

    private void pause() throws InterruptedException {
        var unused = stop.await(PAUSE_MILLIS, TimeUnit.MILLISECONDS);
    }

    /** Waits until it has appended some more records, and read each of them at its place. */
    synchronized void goesOn() throws InterruptedException {
        int goal = read.size() + ROUNDS;
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (read.size() < goal && failure == null) {
            long millis = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
            assertThat(millis)
                    .as(
                            "it appended and read %d records of %d before it stood still",
                            read.size() + ROUNDS - goal, ROUNDS)
                    .isPositive();
            wait(millis);
        }
        assertThat(failure).isNull();
    }

    /** The ids of all its records, in their order. It writes no more of them. */
    List<String> stop() throws InterruptedException {
        stop.countDown();
        thread.join();
        synchronized (this) {
            assertThat(failure).isNull();
            return read.stream().map(UUID::toString).toList();
        }
    }

    @Override
    public void close() {
        stop.countDown();
        thread.interrupt();
    }
}
