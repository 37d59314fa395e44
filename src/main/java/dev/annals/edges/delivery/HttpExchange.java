package dev.annals.edges.delivery;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.smallrye.mutiny.TimeoutException;
import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.subscription.UniEmitter;
import io.vertx.core.MultiMap;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.net.SocketAddress;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.UnknownHostException;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * HTTP requests to sinks. Each goes to an allowed address, with TLS unless that is this machine, and fails after the time limit.
 * Redirects are not followed.
 */
public final class HttpExchange {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int MAX_ANSWER_BYTES = 65_536;
    /** Parts of objects, which commands read. */
    private static final int MAX_PART_BYTES = 8 * 1_048_576;

    private static final int SHOWN_ENCODING = 40;
    private static final Pattern SECONDS = Pattern.compile("[0-9]{1,9}");

    private final Hosts hosts;
    private final HttpClient http;
    private final Duration limit;
    private final int maxAnswer;

    /** Resolves a host to an address that a request may be sent to. */
    @FunctionalInterface
    interface Hosts {
        Uni<InetAddress> resolve(String host, boolean isEncrypted);
    }

    /** @param limit for each request, including the look-up of the name */
    HttpExchange(Targets targets, HttpClient http, Duration limit) {
        this(targets::resolve, http, limit, MAX_ANSWER_BYTES);
    }

    HttpExchange(Hosts hosts, HttpClient http, Duration limit) {
        this(hosts, http, limit, MAX_ANSWER_BYTES);
    }

    private HttpExchange(Hosts hosts, HttpClient http, Duration limit, int maxAnswer) {
        this.hosts = hosts;
        this.http = http;
        this.limit = limit;
        this.maxAnswer = maxAnswer;
    }

    /** To all hosts, for commands; its client is closed with {@code vertx}. */
    static HttpExchange anywhere(Vertx vertx, Duration limit) {
        HttpClientOptions options =
                new HttpClientOptions().setVerifyHost(true).setConnectTimeout((int) limit.toMillis());
        return new HttpExchange(
                Targets.anywhere(vertx)::resolve, vertx.createHttpClient(options), limit, MAX_PART_BYTES);
    }

    record Request(HttpMethod method, URI url, Map<String, String> headers, Buffer body) {}

    /**
     * An answer.
     *
     * @param body at most its first 65,536 bytes; for commands 8 MiB
     */
    public record Answer(int status, MultiMap headers, Buffer body) {

        /** Whether the same request may succeed later. */
        public boolean isTemporary() {
            return status / 100 == 5 || status == 408 || status == 425 || status == 429;
        }

        /** Missing if it is no JSON. */
        JsonNode json() {
            try {
                return JSON.readTree(body.getBytes());
            } catch (IOException e) {
                return MissingNode.getInstance();
            }
        }

        /** The beginning of a text of an answer, in one line. */
        static String shown(String text, int most) {
            return text.replaceAll("\\p{Cc}", " ").substring(0, Math.min(most, text.length()));
        }

        boolean isCut() {
            return body.length() == MAX_ANSWER_BYTES;
        }

        public String text() {
            String encoding = headers.get("Content-Encoding");
            return "It answered with HTTP status " + status + "."
                    + (status / 100 == 3 ? " Redirects are not followed." : "")
                    + (encoding == null || encoding.equalsIgnoreCase("identity")
                            ? ""
                            : " Its answer is compressed (" + shown(encoding, SHOWN_ENCODING)
                                    + "), though the request asks for identity.");
        }

        /** The outcome of an answer other than 2xx. After 410 the sink wants nothing any more. */
        Sink.Outcome outcome() {
            return isTemporary() ? failed() : new Sink.Outcome.Refused(text(), status == 410);
        }

        Sink.Outcome.Failed failed() {
            return new Sink.Outcome.Failed(text(), retryAfter(headers.get("Retry-After")));
        }
    }

    static void check(String url, BiConsumer<String, String> wrong) {
        URI uri = uri(url);
        if (uri == null || !isHttp(uri)) {
            wrong.accept("url", "It must be an https URL; http is for this machine's loopback alone.");
        } else if (uri.getRawUserInfo() != null || uri.getRawFragment() != null || uri.getPort() == 0) {
            wrong.accept("url", "It must have no user, no password, no fragment and no port 0: the URL is shown.");
        }
    }

    /** Whether a URL is http or https, and names a host. */
    static boolean isHttp(URI url) {
        return url.getHost() != null && (isTls(url) || "http".equals(url.getScheme()));
    }

    private static @Nullable URI uri(String text) {
        try {
            return new URI(text);
        } catch (URISyntaxException e) {
            return null;
        }
    }

    static String host(URI url) {
        String host = url.getHost();
        return host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
    }

    /** The value of the header Host: with the brackets of an IPv6 address, without the scheme's default port. */
    static String authority(URI url) {
        int port = url.getPort();
        return port < 0 || port == (isTls(url) ? 443 : 80) ? url.getHost() : url.getHost() + ":" + port;
    }

    /** Fails if no answer arrives in time; {@link #explain} gives the reason. */
    Uni<Answer> send(Request asked) {
        return hosts.resolve(host(asked.url()), isTls(asked.url()))
                .chain(address -> Uni.createFrom().<Answer>emitter(emitter -> send(address, asked, emitter)))
                .ifNoItem()
                .after(limit)
                .fail();
    }

    private static boolean isTls(URI url) {
        return "https".equals(url.getScheme());
    }

    private void send(InetAddress address, Request asked, UniEmitter<? super Answer> emitter) {
        URI url = asked.url();
        int port = url.getPort() > 0 ? url.getPort() : isTls(url) ? 443 : 80;
        String path = url.getRawPath() == null || url.getRawPath().isEmpty() ? "/" : url.getRawPath();
        RequestOptions options = new RequestOptions()
                .setMethod(asked.method())
                // The allowed address: only TLS and the header Host use the name.
                .setServer(SocketAddress.inetSocketAddress(port, address.getHostAddress()))
                .setHost(host(url))
                .setPort(port)
                .setSsl(isTls(url))
                .setURI(url.getRawQuery() == null ? path : path + "?" + url.getRawQuery())
                .setFollowRedirects(false)
                .putHeader("Host", authority(url))
                // Answers are read as they come.
                .putHeader("Accept-Encoding", "identity")
                .putHeader("User-Agent", "Annals");
        asked.headers().forEach(options::putHeader);
        PendingRequest pending = new PendingRequest();
        emitter.onTermination(pending::end);
        http.request(options).onFailure(emitter::fail).onSuccess(request -> {
            if (!pending.begin(request)) {
                return;
            }
            request.response().onFailure(emitter::fail).onSuccess(response -> collect(response, emitter, pending));
            request.send(asked.body()).onFailure(emitter::fail);
        });
    }

    /** A request in flight. Once its caller has given up, nothing more of it may be sent: it would arrive after the next batch. */
    private static final class PendingRequest {

        private @Nullable HttpClientRequest request;
        private boolean isAnswered;
        private boolean isOver;

        /** Returns false if the caller has given up. */
        synchronized boolean begin(HttpClientRequest begun) {
            request = begun;
            if (isOver) {
                begun.reset();
            }
            return !isOver;
        }

        synchronized void answered() {
            isAnswered = true;
        }

        /** Closes the connection of an incomplete answer: another request could not use it. */
        synchronized void end() {
            isOver = true;
            if (request != null && !isAnswered) {
                request.reset();
            }
        }
    }

    private void collect(HttpClientResponse response, UniEmitter<? super Answer> emitter, PendingRequest pending) {
        Buffer body = Buffer.buffer();
        response.exceptionHandler(emitter::fail);
        response.handler(part -> {
            int room = maxAnswer - body.length();
            body.appendBuffer(part.slice(0, Math.min(room, part.length())));
            if (part.length() > room) {
                // The beginning counts as the answer, and the connection is closed.
                emitter.complete(new Answer(response.statusCode(), response.headers(), body));
            }
        });
        response.endHandler(end -> {
            pending.answered();
            emitter.complete(new Answer(response.statusCode(), response.headers(), body));
        });
    }

    private static @Nullable Duration retryAfter(@Nullable String header) {
        if (header == null) {
            return null;
        }
        if (SECONDS.matcher(header).matches()) {
            return Duration.ofSeconds(Long.parseLong(header));
        }
        try {
            Instant until = ZonedDateTime.parse(header, DateTimeFormatter.RFC_1123_DATE_TIME)
                    .toInstant();
            return Duration.between(Instant.now(), until);
        } catch (DateTimeException e) {
            return null;
        }
    }

    /** The reason why a request has no answer, for people. */
    String explain(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause() == cause ? null : cause.getCause()) {
            if (cause instanceof Targets.RefusedTargetException refused) {
                return String.valueOf(refused.getMessage());
            } else if (cause instanceof TimeoutException) {
                return "It did not answer within " + limit.toMillis() + " ms.";
            } else if (cause instanceof SSLException) {
                return "TLS fails: is its certificate trusted here, and for this name?";
            } else if (cause instanceof UnknownHostException) {
                return "Its host is not known.";
            } else if (cause instanceof ConnectException) {
                return "No connection can be made.";
            }
        }
        return "The connection broke.";
    }
}
