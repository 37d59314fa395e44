package dev.annals.access.openid;

import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.subscription.UniEmitter;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.RequestOptions;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The HTTP client of the provider. Each call ends within the time limit, reads a bounded answer, and follows no redirect. The
 * number of calls at a time is limited.
 */
final class ProviderClient {

    private static final int MOST_UNDER_WAY = 16;
    /** Room for a hundred keys with their certificates. */
    private static final int MAX_ANSWER_BYTES = 262_144;

    private final HttpClient http;
    private final Duration limit;
    private final AtomicInteger underWay = new AtomicInteger();

    ProviderClient(Vertx vertx, Duration limit) {
        this.limit = limit;
        this.http = vertx.createHttpClient(new HttpClientOptions()
                .setVerifyHost(true)
                .setMaxPoolSize(MOST_UNDER_WAY)
                .setMaxWaitQueueSize(MOST_UNDER_WAY)
                .setConnectTimeout((int) limit.toMillis()));
    }

    record Answer(int status, String body) {}

    static final class NoAnswer extends Exception {

        private static final long serialVersionUID = 1;

        NoAnswer(String what) {
            super(what);
        }

        NoAnswer(String what, Throwable cause) {
            super(what, cause);
        }
    }

    void close() {
        http.close();
    }

    /** Accepts only status 200. Fails with {@link NoAnswer}. */
    Uni<String> get(String url) {
        return call(HttpMethod.GET, url, null, Map.of())
                .chain(answer -> answer.status == 200
                        ? Uni.createFrom().item(answer.body)
                        : Uni.createFrom().failure(new NoAnswer("it answered with HTTP status " + answer.status)));
    }

    /**
     * Sends a form.
     *
     * @return fails with {@link NoAnswer}
     */
    Uni<Answer> post(String url, String form, Map<String, String> headers) {
        return call(HttpMethod.POST, url, form, headers);
    }

    private Uni<Answer> call(HttpMethod method, String url, @Nullable String form, Map<String, String> headers) {
        if (underWay.incrementAndGet() > MOST_UNDER_WAY) {
            underWay.decrementAndGet();
            return Uni.createFrom().failure(new NoAnswer("too many other calls are under way"));
        }
        return Uni.createFrom()
                .<Answer>emitter(emitter -> send(method, url, form, headers, emitter))
                .ifNoItem()
                .after(limit)
                .failWith(() -> new NoAnswer("it did not answer within " + limit.toMillis() + " ms"))
                .onFailure(failure -> !(failure instanceof NoAnswer))
                .transform(failure -> new NoAnswer("it cannot be reached", failure))
                .eventually(underWay::decrementAndGet);
    }

    private void send(
            HttpMethod method,
            String url,
            @Nullable String form,
            Map<String, String> headers,
            UniEmitter<? super Answer> emitter) {
        RequestOptions options = new RequestOptions()
                .setMethod(method)
                .setAbsoluteURI(url)
                .setFollowRedirects(false)
                .putHeader("Accept", "application/json");
        headers.forEach(options::putHeader);
        if (form != null) {
            options.putHeader("Content-Type", "application/x-www-form-urlencoded");
        }
        http.request(options).onFailure(emitter::fail).onSuccess(request -> {
            AtomicBoolean isAnswered = new AtomicBoolean();
            // A connection with an unread answer cannot be used again.
            emitter.onTermination(() -> {
                if (!isAnswered.get()) {
                    request.reset();
                }
            });
            request.response().onFailure(emitter::fail).onSuccess(response -> collect(response, emitter, isAnswered));
            (form == null ? request.send() : request.send(form)).onFailure(emitter::fail);
        });
    }

    private static void collect(
            HttpClientResponse response, UniEmitter<? super Answer> emitter, AtomicBoolean isAnswered) {
        Buffer body = Buffer.buffer();
        response.exceptionHandler(emitter::fail);
        response.handler(part -> {
            if (body.length() + part.length() > MAX_ANSWER_BYTES) {
                // Ends the request as well.
                emitter.fail(new NoAnswer("its answer has more than " + MAX_ANSWER_BYTES + " bytes"));
            } else {
                body.appendBuffer(part);
            }
        });
        response.endHandler(end -> {
            isAnswered.set(true);
            emitter.complete(new Answer(response.statusCode(), body.toString(StandardCharsets.UTF_8)));
        });
    }
}
