package dev.annals.tools.ops;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The public answers of a service.
 *
 * @param status of its readiness; 0 without an answer
 * @param failure why there is no answer
 * @param version of its contract
 * @param date its clock, in whole seconds, between {@code asked} and {@code answered} of this machine's
 */
record ServiceAnswer(
        URI url,
        int status,
        String failure,
        Optional<String> version,
        Optional<Instant> date,
        Instant asked,
        Instant answered) {

    private static final Duration LIMIT = Duration.ofSeconds(10);
    private static final int HEAD_OF_CONTRACT = 4_096;
    private static final Pattern VERSION = Pattern.compile("(?m)^  version: *\"?([0-9A-Za-z.+-]{1,64})");

    /** Asks it, for at most 20 seconds. */
    static ServiceAnswer of(URI url, Clock clock) throws InterruptedException {
        Instant asked = clock.instant();
        try {
            HttpClient client = HttpClient.newBuilder().connectTimeout(LIMIT).build();
            HttpResponse<InputStream> ready = get(client, url, "/q/health/ready");
            Instant answered = clock.instant();
            ready.body().close();
            return new ServiceAnswer(url, ready.statusCode(), "", version(client, url), date(ready), asked, answered);
        } catch (IOException | IllegalArgumentException e) {
            String failure = e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
            return new ServiceAnswer(url, 0, failure, Optional.empty(), Optional.empty(), asked, clock.instant());
        }
    }

    private static HttpResponse<InputStream> get(HttpClient client, URI url, String path)
            throws IOException, InterruptedException {
        URI address = URI.create(url.toString().replaceAll("/+$", "") + path);
        return client.send(
                HttpRequest.newBuilder(address).timeout(LIMIT).build(), HttpResponse.BodyHandlers.ofInputStream());
    }

    private static Optional<String> version(HttpClient client, URI url) throws IOException, InterruptedException {
        try (InputStream contract = get(client, url, "/q/openapi").body()) {
            Matcher matcher =
                    VERSION.matcher(new String(contract.readNBytes(HEAD_OF_CONTRACT), StandardCharsets.UTF_8));
            return matcher.find() ? Optional.of(matcher.group(1)) : Optional.empty();
        }
    }

    private static Optional<Instant> date(HttpResponse<?> answer) {
        @Nullable String text = answer.headers().firstValue("Date").orElse(null);
        try {
            return Optional.ofNullable(text)
                    .map(date -> ZonedDateTime.parse(date, DateTimeFormatter.RFC_1123_DATE_TIME)
                            .toInstant());
        } catch (DateTimeException e) {
            return Optional.empty();
        }
    }

    /** Whether no other machine can read what clients and the service send. */
    boolean isPrivate() {
        return isPrivate(url);
    }

    static boolean isPrivate(URI url) {
        String host = url.getHost() == null ? "" : url.getHost();
        boolean literal = host.matches("[0-9.]+|\\[[0-9a-fA-F:.]+]");
        try {
            return "https".equalsIgnoreCase(url.getScheme())
                    || host.equals("localhost")
                    || (literal && InetAddress.getByName(host).isLoopbackAddress());
        } catch (IOException e) {
            return false;
        }
    }
}
