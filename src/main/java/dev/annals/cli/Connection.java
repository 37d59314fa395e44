package dev.annals.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.annals.follower.Pauses;
import dev.annals.follower.Unavailable;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * Where the service is, and how long to wait when it is away. Requests with a transient failure (no connection, 408, 429,
 * 502, 503, 504) are sent again, with growing pauses; a request that the service refuses ends the command.
 */
@RegisterForReflection
final class Connection {

    static final String FEED = "/v1/project-logs";
    /** Accepts names as long as metadata may have them. */
    private static final JsonFactory FACTORY = JsonFactory.builder()
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNameLength(Integer.MAX_VALUE)
                    .build())
            .build();

    static final ObjectMapper JSON = new ObjectMapper(FACTORY);
    /** Keeps all digits of a number. */
    static final ObjectMapper EXACT = JsonMapper.builder(FACTORY.copy())
            .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
            .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
            .build();

    // The header's encoding would change characters outside ASCII.
    private static final Pattern TOKEN_TEXT = Pattern.compile("[!-~]+");
    private static final Duration CONNECT = Duration.ofSeconds(10);
    private static final Duration ANSWER = Duration.ofSeconds(60);

    @Option(names = "--url", paramLabel = "URL", description = "The service, instead of ANNALS_URL.")
    @Nullable
    String url;

    @Option(
            names = "--patience",
            paramLabel = "SECONDS",
            description =
                    "How long to try again while the service does not answer. Default: 60; for tail --follow, forever.")
    @Nullable
    Integer patience;

    /** Made with the first request: it takes as long as all else of a start, and there is a connection for each command. */
    private @Nullable HttpClient http;

    private final Pauses pauses = new Pauses();
    private boolean forEver;
    private boolean administers;
    private long failingSince;

    /** From now on only {@code --patience} limits how long to try again. */
    void tryForEver() {
        forEver = true;
    }

    /** A request is sent once: what it does must not be done twice. */
    void tryOnce() {
        patience = 0;
    }

    /** A request to a path and query of the service, which the caller completes. */
    HttpRequest.Builder request(String path) {
        HttpRequest.Builder request =
                request(path, setting("ANNALS_TOKEN", ""), "Set ANNALS_TOKEN to a token of the project.");
        String project = setting("ANNALS_PROJECT", "");
        return project.isEmpty() ? request : request.header("Annals-Project", project);
    }

    /** The same as an administrator. */
    private HttpRequest.Builder administration(String path) {
        administers = true;
        return request(
                path,
                setting("ANNALS_ADMIN_TOKEN", setting("ANNALS_TOKEN", "")),
                "Set ANNALS_ADMIN_TOKEN to a token of the project annals.");
    }

    private HttpRequest.Builder request(String path, String token, String missing) {
        String base = base();
        if (token.isEmpty()) {
            throw new ClientFailure(
                    ClientFailure.TOKEN,
                    missing
                            + " The first start of the service writes some to the file first-tokens in its data directory; others"
                            + " come from whoever administers it.");
        }
        if (!TOKEN_TEXT.matcher(token).matches()) {
            throw unusable();
        }
        try {
            return HttpRequest.newBuilder(URI.create(base.replaceAll("/+$", "") + path))
                    .header("Authorization", "Bearer " + token)
                    .timeout(ANSWER);
        } catch (IllegalArgumentException e) {
            // Its message may contain the token.
            throw unusable();
        }
    }

    private String base() {
        return url == null ? setting("ANNALS_URL", "http://localhost:8080") : url;
    }

    /** Without what may be a password. */
    private String shownBase() {
        return base().replaceAll("//[^/]*@", "//");
    }

    private static ClientFailure unusable() {
        return new ClientFailure(
                ClientFailure.USAGE,
                "The URL or the token cannot be used: a URL begins with http:// or https://, and a token has no"
                        + " white space. Check ANNALS_URL and ANNALS_TOKEN.");
    }

    private static String setting(String name, String otherwise) {
        String value = System.getenv(name);
        return value == null || value.isBlank() ? otherwise : value.strip();
    }

    /**
     * Sends a request of the administration, and returns what it is answered with.
     *
     * @param body null for none
     */
    JsonNode administer(String method, String path, @Nullable JsonNode body) throws IOException, InterruptedException {
        HttpRequest.Builder request = administration(path);
        if (body == null) {
            request.method(method, HttpRequest.BodyPublishers.noBody());
        } else {
            request.header("Content-Type", "application/json")
                    .method(method, HttpRequest.BodyPublishers.ofByteArray(JSON.writeValueAsBytes(body)));
        }
        byte[] answer = send(request.build(), Duration.ZERO);
        return answer.length == 0 ? JSON.createObjectNode() : JSON.readTree(answer);
    }

    /** All of a list of the administration, page by page. */
    List<JsonNode> list(String path, String name) throws IOException, InterruptedException {
        List<JsonNode> items = new ArrayList<>();
        String next = "";
        while (true) {
            JsonNode page = administer("GET", path + "?limit=200" + next, null);
            page.path(name).forEach(items::add);
            if (page.path("next").isNull() || page.path(name).isEmpty()) {
                return items;
            }
            next = "&after=" + page.path("next").asText();
        }
    }

    /** A text as one segment of a path. */
    static String segment(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }

    /** Sends a request until it is answered with success, and returns the body. */
    byte[] send(HttpRequest request, Duration wait) throws InterruptedException {
        byte[] body = ask(request, wait);
        worked();
        return body;
    }

    /** Like {@link #send}, for a preparatory request: its success does not end a series of failures. */
    byte[] ask(HttpRequest request, Duration wait) throws InterruptedException {
        while (true) {
            try {
                HttpResponse<byte[]> answer = once(request, BodyHandlers.ofByteArray(), ANSWER.plus(wait));
                if (answer.statusCode() / 100 == 2) {
                    return answer.body();
                }
                refuseOrPause(answer, answer.body());
            } catch (IOException e) {
                failed(e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage());
            }
        }
    }

    /**
     * Sends a request until it is answered with 200, and returns the body for the caller to read and close. The caller
     * reports whether reading it succeeded, with {@link #worked} or {@link #failed}.
     */
    InputStream open(HttpRequest request) throws InterruptedException {
        while (true) {
            try {
                HttpResponse<InputStream> answer = once(request, BodyHandlers.ofInputStream(), ANSWER);
                if (answer.statusCode() == 200) {
                    return answer.body();
                }
                try (InputStream body = answer.body()) {
                    refuseOrPause(answer, body.readAllBytes());
                }
            } catch (IOException e) {
                failed(e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage());
            }
        }
    }

    /** The client's own limit ends with the headers; this one includes the body. */
    private <T> HttpResponse<T> once(HttpRequest request, BodyHandler<T> handler, Duration limit)
            throws IOException, InterruptedException {
        if (http == null) {
            HttpClient.Builder client =
                    HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(CONNECT);
            if ("http".equals(request.uri().getScheme())) {
                client.sslContext(unused());
            }
            http = client.build();
        }
        Future<HttpResponse<T>> answer = http.sendAsync(request, handler);
        try {
            return answer.get(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            answer.cancel(true);
            throw new IOException("no answer within " + limit.toSeconds() + " seconds", e);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof IOException io ? io : new IOException(e.getCause());
        }
    }

    /** For connections without TLS: a context that trusts nobody, for to read whom to trust takes a third of a second. */
    private static SSLContext unused() {
        try {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, new TrustManager[0], null);
            return context;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java has TLS", e);
        }
    }

    /** The service answered as it should. */
    void worked() {
        if (failingSince != 0) {
            Terminal.say("The service answers again.");
        }
        failingSince = 0;
        pauses.worked();
    }

    /**
     * The service did not answer, or broke off: waits a little.
     *
     * @throws ClientFailure if it has failed for longer than the patience lasts
     */
    void failed(String why) throws InterruptedException {
        failed(new Unavailable(why, null, null));
    }

    private void failed(Unavailable failure) throws InterruptedException {
        long now = System.nanoTime();
        String why = failure.getMessage();
        if (failingSince == 0) {
            failingSince = now;
            Terminal.say("The service at " + shownBase() + " does not answer (" + why + "); trying again.");
        }
        long limitSeconds = patience != null ? patience : forEver ? Long.MAX_VALUE : 60;
        if (TimeUnit.NANOSECONDS.toSeconds(now - failingSince) >= limitSeconds) {
            throw new ClientFailure(
                    ClientFailure.FAILED,
                    "Given up: the service at " + shownBase() + " did not answer for " + limitSeconds + " seconds ("
                            + why + "). Check ANNALS_URL, and that the service runs.");
        }
        Thread.sleep(pauses.after(failure).toMillis());
    }

    private void refuseOrPause(HttpResponse<?> answer, byte[] body) throws InterruptedException {
        int status = answer.statusCode();
        Problem problem = Problem.of(status, body);
        if (problem.isHalted() && !forEver) {
            throw new ClientFailure(ClientFailure.FAILED, problem.text());
        }
        if (Unavailable.isStatus(status) || problem.isBehind()) {
            String retryAfter = answer.headers().firstValue("Retry-After").orElse(null);
            failed(new Unavailable(problem.text(), retryAfter, null));
            return;
        }
        if (problem.isRewound()) {
            throw new ClientFailure(ClientFailure.REWOUND, problem.text());
        }
        if (problem.isExpired()) {
            throw new ClientFailure(ClientFailure.EXPIRED, problem.text());
        }
        if (problem.isForked()) {
            throw new ClientFailure(ClientFailure.FORKED, problem.text());
        }
        if (problem.isHeld()) {
            throw new ClientFailure(ClientFailure.REFUSED, problem.text());
        }
        if (status == 401) {
            throw new ClientFailure(
                    ClientFailure.TOKEN,
                    problem.text() + " Check " + (administers ? "ANNALS_ADMIN_TOKEN" : "ANNALS_TOKEN") + ".");
        }
        if (status == 403) {
            throw new ClientFailure(ClientFailure.TOKEN, problem.text());
        }
        if (problem.position() > 0) {
            throw new ClientFailure(ClientFailure.USAGE, problem.text(), problem.position());
        }
        throw new ClientFailure(ClientFailure.FAILED, problem.text());
    }

    /**
     * The text of an error answer.
     *
     * @param position at which character of a query it is, from 1; 0 if it is about none
     */
    record Problem(String type, String title, String detail, int position) {

        static Problem of(int status, byte[] body) {
            try {
                JsonNode problem = JSON.readTree(body);
                if (problem != null && problem.isObject()) {
                    return of(problem);
                }
            } catch (IOException e) {
                // not a problem from the service, but some proxy's page
            }
            return new Problem("", "HTTP status " + status, "", 0);
        }

        static Problem of(JsonNode problem) {
            List<String> details = new ArrayList<>();
            for (JsonNode error : problem.path("errors")) {
                details.add(error.path("pointer").asText() + " "
                        + error.path("detail").asText());
            }
            if (details.isEmpty()) {
                details.add(problem.path("detail").asText());
            }
            return new Problem(
                    problem.path("type").asText(),
                    problem.path("title").asText(),
                    String.join(" ", details),
                    problem.path("position").asInt());
        }

        boolean isRewound() {
            return type.equals("urn:annals:problem:feed-rewound");
        }

        boolean isExpired() {
            return type.equals("urn:annals:problem:records-expired");
        }

        /** The log follows the feed within moments. */
        boolean isBehind() {
            return type.equals("urn:annals:problem:log-behind");
        }

        boolean isHeld() {
            return type.equals("urn:annals:problem:legal-hold");
        }

        /** Nothing is signed until an operator has decided, which no patience is long enough for. */
        boolean isHalted() {
            return type.equals("urn:annals:problem:log-halted");
        }

        boolean isForked() {
            return type.equals("urn:annals:problem:log-forked");
        }

        String text() {
            return detail.isEmpty() ? title : title + ": " + detail;
        }
    }

    /** The query of a URL, made of the parameters that are not null. */
    static String query(Map<String, @Nullable String> parameters) {
        StringBuilder query = new StringBuilder();
        parameters.forEach((name, value) -> {
            if (value != null) {
                query.append(query.isEmpty() ? '?' : '&')
                        .append(name)
                        .append('=')
                        .append(URLEncoder.encode(value, StandardCharsets.UTF_8));
            }
        });
        return query.toString();
    }
}
