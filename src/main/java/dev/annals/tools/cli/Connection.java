package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.follower.Pauses;
import dev.annals.follower.Unavailable;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * The connection to the service. A request with a transient failure (no connection, 408, 429, 502, 503, 504) is repeated with growing
 * pauses. A request that the service refuses ends the command.
 */
@RegisterForReflection
final class Connection {

    static final String FEED = "/v1/project-logs";
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
                    "The time to retry while the service does not answer. Default: 60; for tail --follow, no limit.")
    @Nullable
    Integer patience;

    /** Created with the first request that needs it, because that takes longer than the rest of a start. */
    private @Nullable HttpClient http;

    private final Pauses pauses = new Pauses();
    private boolean forEver;
    private boolean administers;
    private long failingSince;

    /** From now on only {@code --patience} limits retries. */
    void tryForEver() {
        forEver = true;
    }

    /** From now on a request is sent once, because its effect must not be repeated. */
    void tryOnce() {
        patience = 0;
    }

    /**
     * A request to the service.
     *
     * @param body null for none
     * @param mayRepeat true if a repeated request has no further effect
     */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record Request(String method, URI uri, Map<String, String> headers, byte @Nullable [] body, boolean mayRepeat) {

        /** This request with another method than GET. */
        Request by(String method) {
            return new Request(method, uri, headers, body, false);
        }

        Request with(String contentType, byte[] body) {
            return new Request(method, uri, withHeader("Content-Type", contentType).headers, body, mayRepeat);
        }

        Request repeatable() {
            return new Request(method, uri, headers, body, true);
        }

        private Request withHeader(String name, String value) {
            Map<String, String> more = new LinkedHashMap<>(headers);
            more.put(name, value);
            return new Request(method, uri, more, body, mayRepeat);
        }
    }

    private record Answer<T>(int status, @Nullable String retryAfter, T body) {}

    /** A GET of a path and query of the service. */
    Request request(String path) {
        Request request = request(path, setting("ANNALS_TOKEN", ""), "Set ANNALS_TOKEN to a token of the project.");
        String project = setting("ANNALS_PROJECT", "");
        return project.isEmpty() ? request : request.withHeader("Annals-Project", project);
    }

    /** A GET with the administrator's token. */
    private Request administration(String path) {
        administers = true;
        return request(
                path,
                setting("ANNALS_ADMIN_TOKEN", setting("ANNALS_TOKEN", "")),
                "Set ANNALS_ADMIN_TOKEN to a token of the project annals.");
    }

    private Request request(String path, String token, String missing) {
        String base = base();
        if (token.isEmpty()) {
            throw new ClientFailure(
                    ClientFailure.TOKEN,
                    missing
                            + " The first start of the service writes tokens to the file first-tokens in its data directory. An"
                            + " administrator issues others.");
        }
        if (!TOKEN_TEXT.matcher(token).matches()) {
            throw unusable();
        }
        try {
            URI uri = URI.create(base.replaceAll("/+$", "") + path);
            if (uri.getHost() == null || !("http".equals(uri.getScheme()) || "https".equals(uri.getScheme()))) {
                throw unusable();
            }
            return new Request("GET", uri, Map.of("Authorization", "Bearer " + token), null, true);
        } catch (IllegalArgumentException e) {
            // Its message may contain the token.
            throw unusable();
        }
    }

    private String base() {
        return url == null ? setting("ANNALS_URL", "http://localhost:8080") : url;
    }

    /** The URL without a user and a password. */
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
     * Sends a request of the administration, and returns the answer.
     *
     * @param body null for none
     */
    JsonNode administer(String method, String path, @Nullable JsonNode body) throws IOException, InterruptedException {
        return exchange(administration(path), method, body);
    }

    /**
     * Sends a request with the project's token, and returns the answer.
     *
     * @param body null for none
     */
    JsonNode exchange(String method, String path, @Nullable JsonNode body) throws IOException, InterruptedException {
        return exchange(request(path), method, body);
    }

    private JsonNode exchange(Request get, String method, @Nullable JsonNode body)
            throws IOException, InterruptedException {
        Request request = get;
        if (!method.equals("GET")) {
            request = request.by(method);
        }
        if (body != null) {
            request = request.with("application/json", Json.mapper().writeValueAsBytes(body));
        }
        byte[] answer = send(request, Duration.ZERO);
        return answer.length == 0
                ? Json.mapper().createObjectNode()
                : Json.mapper().readTree(answer);
    }

    /** Reads all pages of a list of the administration. */
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

    /** Sends a request until it succeeds, or an import until its summary arrives, and returns the body. */
    byte[] send(Request request, Duration wait) throws InterruptedException {
        byte[] body = ask(request, wait);
        worked();
        return body;
    }

    /** Like {@link #send}, for a preparatory request: its success does not end a series of failures. */
    byte[] ask(Request request, Duration wait) throws InterruptedException {
        while (true) {
            try {
                Answer<byte[]> answer = request.mayRepeat
                        ? onceByOldClient(request, ANSWER.plus(wait))
                        : once(request, BodyHandlers.ofByteArray(), ANSWER.plus(wait));
                if (answer.status / 100 == 2
                        || Problem.of(answer.status, answer.body).isOfAllLines()) {
                    return answer.body;
                }
                refuseOrPause(answer, answer.body);
            } catch (IOException e) {
                failed(e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage());
            }
        }
    }

    /**
     * Sends a request until the answer is 200, and returns the body for the caller to read and close. The caller then reports
     * {@link #worked} or {@link #failed}.
     */
    InputStream open(Request request) throws InterruptedException {
        while (true) {
            try {
                Answer<InputStream> answer = once(request, BodyHandlers.ofInputStream(), ANSWER);
                if (answer.status == 200) {
                    return answer.body;
                }
                try (InputStream body = answer.body) {
                    refuseOrPause(answer, body.readAllBytes());
                }
            } catch (IOException e) {
                failed(e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage());
            }
        }
    }

    /**
     * Uses HttpURLConnection, which starts in a tenth of the time of HttpClient. It may send a request twice by itself and knows no
     * PATCH. Only its own limit ends the reading of a body.
     */
    private static Answer<byte[]> onceByOldClient(Request request, Duration limit)
            throws IOException, InterruptedException {
        FutureTask<Answer<byte[]>> answer = new FutureTask<>(() -> exchange(request, limit));
        Thread thread = new Thread(answer, "annals-request");
        thread.setDaemon(true);
        thread.start();
        return within(limit, answer);
    }

    private static Answer<byte[]> exchange(Request request, Duration limit) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) request.uri.toURL().openConnection();
        connection.setRequestMethod(request.method);
        connection.setInstanceFollowRedirects(false);
        connection.setUseCaches(false);
        connection.setConnectTimeout((int) CONNECT.toMillis());
        connection.setReadTimeout((int) limit.toMillis());
        connection.setRequestProperty("Accept", "*/*");
        request.headers.forEach(connection::setRequestProperty);
        if (request.body != null) {
            connection.setDoOutput(true);
            try (OutputStream body = connection.getOutputStream()) {
                body.write(request.body);
            }
        }
        int status = connection.getResponseCode();
        if (status < 0) {
            throw new IOException("the answer is not HTTP");
        }
        byte[] body = new byte[0];
        try (InputStream answered = status >= 400 ? connection.getErrorStream() : connection.getInputStream()) {
            if (answered != null) {
                body = answered.readAllBytes();
            }
        }
        long promised = connection.getContentLengthLong();
        if (promised >= 0 && body.length != promised) {
            // HttpURLConnection reads a broken connection as the end of the answer.
            throw new IOException("the answer broke off after " + body.length + " of " + promised + " bytes");
        }
        return new Answer<>(status, connection.getHeaderField("Retry-After"), body);
    }

    /** The client's own limit includes only the headers; this one includes the body. */
    private <T> Answer<T> once(Request request, BodyHandler<T> handler, Duration limit)
            throws IOException, InterruptedException {
        if (http == null) {
            HttpClient.Builder client =
                    HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(CONNECT);
            if ("http".equals(request.uri.getScheme())) {
                client.sslContext(unused());
            }
            http = client.build();
        }
        HttpRequest.Builder built = HttpRequest.newBuilder(request.uri)
                .timeout(limit)
                .method(
                        request.method,
                        request.body == null
                                ? HttpRequest.BodyPublishers.noBody()
                                : HttpRequest.BodyPublishers.ofByteArray(request.body));
        request.headers.forEach(built::header);
        HttpResponse<T> answer = within(limit, http.sendAsync(built.build(), handler));
        return new Answer<>(
                answer.statusCode(), answer.headers().firstValue("Retry-After").orElse(null), answer.body());
    }

    private static <T> T within(Duration limit, Future<T> answer) throws IOException, InterruptedException {
        try {
            return answer.get(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            answer.cancel(true);
            throw new IOException("no answer within " + limit.toSeconds() + " seconds", e);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof IOException io ? io : new IOException(e.getCause());
        }
    }

    /** A context without trusted certificates for connections without TLS: reading them takes a third of a second. */
    private static SSLContext unused() {
        try {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, new TrustManager[0], null);
            return context;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java has TLS", e);
        }
    }

    /** The service answered correctly. */
    void worked() {
        if (failingSince != 0) {
            Terminal.say("The service answers again.");
        }
        failingSince = 0;
        pauses.worked();
    }

    /**
     * The service did not answer, or the answer broke off: pauses before the next attempt.
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
            Terminal.say("The service at " + shownBase() + " does not answer (" + why + "). The command tries again.");
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

    private void refuseOrPause(Answer<?> answer, byte[] body) throws InterruptedException {
        int status = answer.status;
        Problem problem = Problem.of(status, body);
        if (problem.isHalted() && !forEver) {
            throw new ClientFailure(ClientFailure.FAILED, problem.text());
        }
        if (Unavailable.isStatus(status) || problem.isBehind()) {
            failed(new Unavailable(problem.text(), answer.retryAfter, null));
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
     * @param position of the character in a query, from 1; 0 for none
     */
    record Problem(String type, String title, String detail, int position) {

        static Problem of(int status, byte[] body) {
            try {
                JsonNode problem = Json.mapper().readTree(body);
                if (problem != null && problem.isObject()) {
                    return of(problem);
                }
            } catch (IOException e) {
                // a page of a proxy
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

        /** True if this is the summary of an import that stored nothing. */
        boolean isOfAllLines() {
            return type.equals("urn:annals:problem:all-lines-refused");
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
