package dev.annals.delivery;

import dev.annals.feed.Cursor;
import dev.annals.record.EncodedRecord;
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
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.function.BiConsumer;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * A webhook: each batch is one POST, signed as Standard Webhooks 1.0 has it. {@code webhook-id} is the project's id, a colon, and the
 * sequence ids of the first and the last record, so that a batch that is sent again has the same one.
 *
 * <p>An answer of 2xx acknowledges the batch. 408, 425, 429 and 5xx, and no answer at all, are tried again; 410 says that there is
 * nothing any more; everything else refuses the batch. Redirects are not followed.
 */
final class WebhookSink implements Sink {

    private static final String HMAC = "HmacSHA256";
    private static final Pattern SECRET = Pattern.compile("whsec_[0-9A-Za-z+/]{32,88}={0,2}");
    private static final String PREFIX = "whsec_";
    /** How much of an answer is read; the rest only has to end. */
    private static final int SHOWN_BYTES = 1_024;

    private static final int MAX_ANSWER_BYTES = 65_536;
    private static final Pattern SECONDS = Pattern.compile("[0-9]{1,9}");

    private final NamedStream stream;
    private final URI url;
    private final byte[] key;
    private final Targets targets;
    private final HttpClient http;
    private final Duration limit;

    /** @param secret {@code whsec_…} */
    WebhookSink(NamedStream stream, String secret, Targets targets, HttpClient http, Duration limit) {
        this.stream = stream;
        this.url = URI.create(stream.url());
        this.key = Base64.getDecoder().decode(secret.substring(PREFIX.length()));
        this.targets = targets;
        this.http = http;
        this.limit = limit;
    }

    /** As {@link Sink#check}. */
    static void check(String url, @Nullable String secret, BiConsumer<String, String> wrong) {
        URI uri = uri(url);
        if (uri == null
                || uri.getHost() == null
                || !("https".equals(uri.getScheme()) || "http".equals(uri.getScheme()))) {
            wrong.accept("url", "It must be an https URL; http is for this machine's loopback alone.");
        } else if (uri.getRawUserInfo() != null || uri.getRawFragment() != null || uri.getPort() == 0) {
            wrong.accept("url", "It must have no user, no password, no fragment and no port 0: the URL is shown.");
        }
        if (secret != null && !isSecret(secret)) {
            wrong.accept("secret", "It must be whsec_ and 24 to 64 bytes in Base64, as Standard Webhooks has it.");
        }
    }

    private static boolean isSecret(String secret) {
        if (!SECRET.matcher(secret).matches()) {
            return false;
        }
        try {
            int bytes = Base64.getDecoder().decode(secret.substring(PREFIX.length())).length;
            return bytes >= 24 && bytes <= 64;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    private static @Nullable URI uri(String text) {
        try {
            return new URI(text);
        } catch (URISyntaxException e) {
            return null;
        }
    }

    /** Where the sink of such a URL is. */
    static String host(String url) {
        String host = URI.create(url).getHost();
        return host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
    }

    @Override
    public Uni<Cursor> begin(Cursor known) {
        return Uni.createFrom().item(known);
    }

    @Override
    public Uni<Outcome> test(Batch batch) {
        return send(batch);
    }

    @Override
    public void close() {
        // The connections are everybody's.
    }

    @Override
    public Uni<Outcome> deliver(Batch batch) {
        return batch.records().isEmpty()
                ? Uni.createFrom().item(new Outcome.Taken("There was nothing to send."))
                : send(batch);
    }

    private Uni<Outcome> send(Batch batch) {
        Buffer body = body(batch);
        return targets.resolve(host(stream.url()))
                .map(this::requireTls)
                .chain(address -> Uni.createFrom().<Outcome>emitter(emitter -> post(address, batch, body, emitter)))
                .ifNoItem()
                .after(limit)
                .recoverWithItem(
                        () -> new Outcome.Failed("It did not answer within " + limit.toMillis() + " ms.", null))
                .onFailure()
                .recoverWithItem(failure -> new Outcome.Failed(told(failure), null));
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

    private Buffer body(Batch batch) {
        Buffer body = Buffer.buffer();
        boolean plain = stream.format() == StreamFormat.JSON;
        body.appendString(
                plain
                        ? "{\"project_id\":\"" + stream.projectId() + "\",\"stream\":\"" + stream.name()
                                + "\",\"records\":[\n"
                        : "[\n");
        boolean first = true;
        for (EncodedRecord record : batch.records()) {
            if (!first) {
                body.appendString(",");
            }
            first = false;
            record.appendTo(body);
        }
        return body.appendString(plain ? "]}" : "]");
    }

    private String id(Batch batch) {
        if (batch.records().isEmpty()) {
            return stream.projectId() + ":0";
        }
        long firstId = batch.records().get(0).sequenceId();
        long lastId = batch.records().get(batch.records().size() - 1).sequenceId();
        return stream.projectId() + ":" + firstId + "-" + lastId;
    }

    private void post(InetAddress address, Batch batch, Buffer body, UniEmitter<? super Outcome> emitter) {
        String id = id(batch);
        String seconds = Long.toString(Instant.now().getEpochSecond());
        int port = url.getPort() > 0 ? url.getPort() : isTls() ? 443 : 80;
        String path = url.getRawPath() == null || url.getRawPath().isEmpty() ? "/" : url.getRawPath();
        RequestOptions options = new RequestOptions()
                .setMethod(HttpMethod.POST)
                // The address that was found good: the name is for TLS and the header Host alone.
                .setServer(SocketAddress.inetSocketAddress(port, address.getHostAddress()))
                .setHost(host(stream.url()))
                .setPort(port)
                .setSsl(isTls())
                .setURI(url.getRawQuery() == null ? path : path + "?" + url.getRawQuery())
                .setFollowRedirects(false)
                .putHeader("Content-Type", stream.format().mediaType())
                .putHeader("User-Agent", "Annals")
                .putHeader("webhook-id", id)
                .putHeader("webhook-timestamp", seconds)
                .putHeader("webhook-signature", "v1," + signature(id, seconds, body));
        Exchange exchange = new Exchange();
        emitter.onTermination(exchange::end);
        http.request(options).onFailure(emitter::fail).onSuccess(request -> {
            if (!exchange.begin(request)) {
                return;
            }
            request.response().onFailure(emitter::fail).onSuccess(response -> collect(response, emitter, exchange));
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

    private String signature(String id, String seconds, Buffer body) {
        try {
            Mac mac = Mac.getInstance(HMAC);
            mac.init(new SecretKeySpec(key, HMAC));
            mac.update((id + "." + seconds + ".").getBytes(StandardCharsets.UTF_8));
            return Base64.getEncoder().encodeToString(mac.doFinal(body.getBytes()));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java platform has " + HMAC, e);
        }
    }

    private static void collect(HttpClientResponse response, UniEmitter<? super Outcome> emitter, Exchange exchange) {
        Buffer shown = Buffer.buffer();
        long[] bytes = new long[1];
        response.exceptionHandler(emitter::fail);
        response.handler(part -> {
            bytes[0] += part.length();
            if (bytes[0] > MAX_ANSWER_BYTES) {
                // What it said first counts; the connection is closed.
                emitter.complete(outcome(response, shown));
                return;
            }
            int room = SHOWN_BYTES - shown.length();
            if (room > 0) {
                shown.appendBuffer(part.slice(0, Math.min(room, part.length())));
            }
        });
        response.endHandler(end -> {
            exchange.answered();
            emitter.complete(outcome(response, shown));
        });
    }

    private static Outcome outcome(HttpClientResponse response, Buffer body) {
        int status = response.statusCode();
        String why = "It answered with HTTP status " + status + ".";
        if (status / 100 == 2) {
            return new Outcome.Taken(why
                    + (body.length() == 0
                            ? ""
                            : " " + body.toString(StandardCharsets.UTF_8).replace('\0', ' ')));
        }
        if (status / 100 == 5 || status == 408 || status == 425 || status == 429) {
            return new Outcome.Failed(why, retryAfter(response.getHeader("Retry-After")));
        }
        return new Outcome.Refused(status / 100 == 3 ? why + " Redirects are not followed." : why, status == 410);
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
