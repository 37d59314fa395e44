package dev.annals.writer;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The HTTP endpoint for batches. Records count as stored only if the answer names their ids, and as refused only if the answer is a problem
 * that the service defines. Any other answer, such as a proxy's, is a reason to try again.
 */
final class Endpoint {

    private static final String BATCH = "/v1/project-logs/batch";
    private static final int LONGEST_REASON = 2_000;
    private static final Pattern TYPE = Pattern.compile("\"type\"\\s*:\\s*\"urn:annals:problem:([a-z-]+)\"");
    private static final Pattern POINTER = Pattern.compile("\"pointer\"\\s*:\\s*\"/records/(\\d{1,9})[/\"]");
    private static final Pattern SECONDS = Pattern.compile("\\d{1,9}");
    /** Problems with a record, not with the caller. */
    private static final Set<String> OF_RECORDS =
            Set.of("malformed-json", "invalid-record", "record-id-taken", "body-too-large", "too-many-records");

    private final URI uri;
    private final Supplier<String> token;
    private final HttpClient client;
    private final Duration timeout;

    Endpoint(URI service, Supplier<String> token, HttpClient client, Duration timeout) {
        this.uri = URI.create(service.toString().replaceAll("/+$", "") + BATCH);
        this.token = token;
        this.client = client;
        this.timeout = timeout;
    }

    /** Returns within the timeout, or as soon as {@code stop} completes. */
    // The HTTP client knows no other way to cancel.
    @SuppressWarnings("Interruption")
    Answer send(List<Entry> records, CompletableFuture<Void> stop) {
        HttpRequest request;
        try {
            request = HttpRequest.newBuilder(uri)
                    .version(HttpClient.Version.HTTP_1_1)
                    .timeout(timeout)
                    .header("Authorization", "Bearer " + checked(token.get()))
                    .header("Content-Type", "application/json")
                    .header("Accept", "application/json, application/problem+json")
                    .POST(HttpRequest.BodyPublishers.ofByteArray(body(records)))
                    .build();
        } catch (RuntimeException e) {
            // The application's code threw this. Its message may contain the token, so it is left out.
            return Answer.later("There is no token: " + e.getClass().getName(), null);
        }
        BoundedBody body = new BoundedBody();
        CompletableFuture<HttpResponse<byte[]>> exchange = client.sendAsync(request, answer -> body);
        try {
            CompletableFuture.anyOf(exchange, stop)
                    .orTimeout(timeout.toMillis(), TimeUnit.MILLISECONDS)
                    .join();
            return exchange.isDone()
                    ? read(exchange.join(), records)
                    : Answer.later("The client is being closed", null);
        } catch (CompletionException e) {
            return Answer.later("There is no answer: " + e.getCause(), null);
        } finally {
            body.cancel();
            exchange.cancel(true);
        }
    }

    private static String checked(String token) {
        if (token == null || !token.matches("[!-~]+")) {
            throw new IllegalArgumentException("A token is made of visible ASCII characters");
        }
        return token;
    }

    private static byte[] body(List<Entry> records) {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        body.writeBytes("{\"records\":[".getBytes(UTF_8));
        for (int i = 0; i < records.size(); i++) {
            if (i > 0) {
                body.write(',');
            }
            body.writeBytes(records.get(i).json);
        }
        body.writeBytes("]}".getBytes(UTF_8));
        return body.toByteArray();
    }

    private static Answer read(HttpResponse<byte[]> response, List<Entry> records) {
        String body = new String(response.body(), UTF_8);
        int status = response.statusCode();
        if (status == 200 || status == 201) {
            return namesAll(records, body)
                    ? Answer.stored()
                    : Answer.later("The answer does not name the records: this is not the service", null);
        }
        String reason = "Status " + status + ": " + shortened(body);
        String type = response.headers().firstValue("Content-Type").orElse("");
        Matcher problem = TYPE.matcher(body);
        if (type.startsWith("application/problem+json") && problem.find() && OF_RECORDS.contains(problem.group(1))) {
            Map<Integer, String> refused = refused(body, records.size());
            return refused.isEmpty() ? Answer.split(reason) : Answer.refused(refused);
        }
        // A proxy may take less than the service.
        if (status == 413 && records.size() > 1) {
            return Answer.split(reason);
        }
        Optional<Duration> pause = response.headers()
                .firstValue("Retry-After")
                .filter(SECONDS.asMatchPredicate())
                .map(seconds -> Duration.ofSeconds(Long.parseLong(seconds)));
        return Answer.later(reason, pause.orElse(null));
    }

    private static boolean namesAll(List<Entry> records, String body) {
        int at = 0;
        for (Entry record : records) {
            at = body.indexOf(record.id.toString(), at);
            if (at < 0) {
                return false;
            }
        }
        return true;
    }

    /** The reasons by the indexes of the records that a problem names. */
    private static Map<Integer, String> refused(String body, int records) {
        Map<Integer, String> refused = new TreeMap<>();
        Matcher pointer = POINTER.matcher(body);
        while (pointer.find()) {
            int index = Integer.parseInt(pointer.group(1));
            if (index < records) {
                int start = Math.max(0, body.lastIndexOf('{', pointer.start()));
                int end = body.indexOf('}', pointer.end());
                refused.putIfAbsent(index, shortened(body.substring(start, end < 0 ? body.length() : end + 1)));
            }
        }
        return refused;
    }

    private static String shortened(String text) {
        return text.length() <= LONGEST_REASON ? text : text.substring(0, LONGEST_REASON) + "…";
    }
}
