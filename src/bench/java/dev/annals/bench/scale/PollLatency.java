package dev.annals.bench.scale;

import dev.annals.bench.SampleRecords;
import dev.annals.bench.service.HttpCall;
import dev.annals.bench.service.Latencies;
import dev.annals.bench.service.Target;
import dev.annals.kernel.guid.SequentialGuid;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** From the moment at which a record is sent to the one at which a poll that waits for it has returned. */
final class PollLatency {

    private static final Duration LIMIT = Duration.ofSeconds(30);
    private static final int MAX_PAUSE_MILLIS = 40;
    private static final Pattern SEQUENCE_ID = Pattern.compile("\"sequence_id\": ?(\\d+)");

    private final HttpClient client = HttpClient.newHttpClient();
    private final SampleRecords samples = new SampleRecords(1, new SequentialGuid());
    private final SplittableRandom random = new SplittableRandom(1);
    private final Target annals;
    private final int projects;

    /** @param projects the records go to one of so many, drawn anew for each */
    PollLatency(Target annals, int projects) {
        this.annals = annals;
        this.projects = projects;
    }

    Latencies measure(int records) throws IOException, InterruptedException {
        long[] latencies = new long[records];
        for (int i = 0; i < records; i++) {
            String token = annals.tokens().get(random.nextInt(projects));
            long head = sequenceId(client.send(append(token), HttpResponse.BodyHandlers.ofString()));
            CompletableFuture<Long> returned = client.sendAsync(
                            request(token, "?cursor=" + head + "&wait=30").build(),
                            HttpResponse.BodyHandlers.ofString())
                    .thenApply(page -> sequenceId(page) == head + 1 ? System.nanoTime() : 0);
            TimeUnit.MILLISECONDS.sleep(random.nextInt(MAX_PAUSE_MILLIS));
            long began = System.nanoTime();
            client.send(append(token), HttpResponse.BodyHandlers.ofString());
            latencies[i] = Math.max(0, returned.join() - began);
        }
        return new Latencies(latencies);
    }

    private HttpRequest append(String token) {
        return request(token, "")
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofByteArray(SampleRecords.toJson(samples.next())))
                .build();
    }

    private HttpRequest.Builder request(String token, String query) {
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + annals.port() + HttpCall.FEED + query))
                .header("Authorization", "Bearer " + token)
                .timeout(LIMIT);
    }

    private static long sequenceId(HttpResponse<String> answer) {
        Matcher found = SEQUENCE_ID.matcher(answer.body());
        if (answer.statusCode() >= 300 || !found.find()) {
            throw new IllegalStateException("the answer is " + answer.statusCode() + ": " + answer.body());
        }
        return Long.parseLong(found.group(1));
    }
}
