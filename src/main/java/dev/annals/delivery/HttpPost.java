package dev.annals.delivery;

import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.subscription.UniEmitter;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.net.SocketAddress;
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
import java.util.function.Function;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * Posts to one URL: to an address that was found good, within a time limit, and without following redirects.
 *
 * <p>An answer of 2xx is handed on. 408, 425, 429 and 5xx, and no answer at all, are tried again; 410 says that there is nothing any
 * more; everything else refuses what was sent.
 */
final class HttpPost {

    private static final int MAX_ANSWER_BYTES = 65_536;
    private static final Pattern SECONDS = Pattern.compile("[0-9]{1,9}");

    private final URI url;
    private final Targets targets;
    private final HttpClient http;
    private final Duration limit;

    /**
     * An answer of 2xx.
     *
     * @param told its status, for people
     * @param body at most {@value #MAX_ANSWER_BYTES} bytes of it
     */
    record Answer(String told, Buffer body) {}

    HttpPost(String url, Targets targets, HttpClient http, Duration limit) {
        this.url = URI.create(url);
        this.targets = targets;
        this.http = http;
        this.limit = limit;
    }

    /** Looks at a URL. */
    static void check(String url, BiConsumer<String, String> wrong) {
        URI uri = uri(url);
        if (uri == null
                || uri.getHost() == null
                || !("https".equals(uri.getScheme()) || "http".equals(uri.getScheme()))) {
            wrong.accept("url", "It must be an https URL; http is for this machine's loopback alone.");
        } else if (uri.getRawUserInfo() != null || uri.getRawFragment() != null || uri.getPort() == 0) {
            wrong.accept("url", "It must have no user, no password, no fragment and no port 0: the URL is shown.");
        }
    }

    private static @Nullable URI uri(String text) {
        try {
            return new URI(text);
        } catch (URISyntaxException e) {
            return null;
        }
    }

    /** Where such a URL leads. */
    static String host(String url) {
        String host = URI.create(url).getHost();
        return host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
    }

    /**
     * Sends a body; never fails.
     *
     * @param accepted what an answer of 2xx means
     */
    Uni<Sink.Outcome> send(Buffer body, Map<String, String> headers, Function<Answer, Sink.Outcome> accepted) {
        return targets.resolve(host(url.toString()))
                .map(this::requireTls)
                .chain(address -> Uni.createFrom()
                        .<Sink.Outcome>emitter(emitter -> post(address, body, headers, accepted, emitter)))
                .ifNoItem()
                .after(limit)
                .recoverWithItem(
                        () -> new Sink.Outcome.Failed("It did not answer within " + limit.toMillis() + " ms.", null))
                .onFailure()
                .recoverWithItem(failure -> new Sink.Outcome.Failed(told(failure), null));
    }

    private InetAddress requireTls(InetAddress address) {
        if (isTls() || address.isLoopbackAddress()) {
            return address;
        }
        throw new Targets.RefusedTargetException("Without TLS, sinks may only be on this machine: use https.");
    }

    private boolean isTls() {
        return "https".equals(url.getScheme());
    }

    private void post(
            InetAddress address,
            Buffer body,
            Map<String, String> headers,
            Function<Answer, Sink.Outcome> accepted,
            UniEmitter<? super Sink.Outcome> emitter) {
        int port = url.getPort() > 0 ? url.getPort() : isTls() ? 443 : 80;
        String path = url.getRawPath() == null || url.getRawPath().isEmpty() ? "/" : url.getRawPath();
        RequestOptions options = new RequestOptions()
                .setMethod(HttpMethod.POST)
                // The address that was found good: the name is for TLS and the header Host alone.
                .setServer(SocketAddress.inetSocketAddress(port, address.getHostAddress()))
                .setHost(host(url.toString()))
                .setPort(port)
                .setSsl(isTls())
                .setURI(url.getRawQuery() == null ? path : path + "?" + url.getRawQuery())
                .setFollowRedirects(false)
                .putHeader("User-Agent", "Annals");
        headers.forEach(options::putHeader);
        Exchange exchange = new Exchange();
        emitter.onTermination(exchange::end);
        http.request(options).onFailure(emitter::fail).onSuccess(request -> {
            if (!exchange.begin(request)) {
                return;
            }
            request.response()
                    .onFailure(emitter::fail)
                    .onSuccess(response -> collect(response, accepted, emitter, exchange));
            request.send(body).onFailure(emitter::fail);
        });
    }

    /**
     * A request, and whether somebody still waits for its answer. Nothing is sent behind that: the next batch may have been
     * delivered meanwhile.
     */
    private static final class Exchange {

        private @Nullable HttpClientRequest request;
        private boolean isAnswered;
        private boolean isOver;

        /** False if nobody waits any more. */
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

        /** A connection whose answer is not at its end cannot be used again. */
        synchronized void end() {
            isOver = true;
            if (request != null && !isAnswered) {
                request.reset();
            }
        }
    }

    private static void collect(
            HttpClientResponse response,
            Function<Answer, Sink.Outcome> accepted,
            UniEmitter<? super Sink.Outcome> emitter,
            Exchange exchange) {
        Buffer body = Buffer.buffer();
        response.exceptionHandler(emitter::fail);
        response.handler(part -> {
            int room = MAX_ANSWER_BYTES - body.length();
            body.appendBuffer(part.slice(0, Math.min(room, part.length())));
            if (part.length() > room) {
                // What it said first counts; the connection is closed.
                emitter.complete(outcome(response, body, accepted));
            }
        });
        response.endHandler(end -> {
            exchange.answered();
            emitter.complete(outcome(response, body, accepted));
        });
    }

    private static Sink.Outcome outcome(
            HttpClientResponse response, Buffer body, Function<Answer, Sink.Outcome> accepted) {
        int status = response.statusCode();
        String why = "It answered with HTTP status " + status + ".";
        if (status / 100 == 2) {
            return accepted.apply(new Answer(why, body));
        }
        if (status / 100 == 5 || status == 408 || status == 425 || status == 429) {
            return new Sink.Outcome.Failed(why, retryAfter(response.getHeader("Retry-After")));
        }
        return new Sink.Outcome.Refused(status / 100 == 3 ? why + " Redirects are not followed." : why, status == 410);
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

    private static String told(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause() == cause ? null : cause.getCause()) {
            if (cause instanceof Targets.RefusedTargetException refused) {
                return String.valueOf(refused.getMessage());
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
