package dev.annals.bench.service;

import io.vertx.core.AsyncResult;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.RequestOptions;
import java.time.Duration;
import java.util.Iterator;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/** Sends requests over a bounded number of connections from one thread. */
public final class LoadClient implements AutoCloseable {

    private static final Duration WARM_UP = Duration.ofMillis(500);
    private static final int CALL_LIMIT_MILLIS = 30_000;
    private static final long END_LIMIT_SECONDS = 35;

    private static final Pattern SEQUENCE_ID = Pattern.compile("\"sequence_id\": ?(\\d+)");

    private final Vertx vertx = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(1));
    private final Context context = vertx.getOrCreateContext();
    private final HttpClient client;
    private final int port;
    private final int connections;
    private final LongAdder succeeded = new LongAdder();
    private final LongAdder failed = new LongAdder();
    private volatile String failure = "";
    private volatile boolean stopping;

    LoadClient(int port, int connections) {
        this.port = port;
        this.connections = connections;
        this.client = vertx.createHttpClient(new HttpClientOptions()
                .setMaxPoolSize(connections)
                .setMaxWaitQueueSize(-1)
                .setConnectTimeout(10_000));
    }

    /** As many requests in a second as the target answers, each connection sending the next one after an answer. */
    public static double closedLoop(Target target, int connections, Supplier<HttpCall> calls, Duration duration)
            throws InterruptedException {
        try (LoadClient load = new LoadClient(target.port(), connections)) {
            return load.closedLoop(calls, duration);
        }
    }

    private double closedLoop(Supplier<HttpCall> calls, Duration duration) throws InterruptedException {
        context.runOnContext(begin -> {
            for (int i = 0; i < connections; i++) {
                sendOn(calls);
            }
        });
        TimeUnit.MILLISECONDS.sleep(WARM_UP.toMillis());
        long begin = System.nanoTime();
        long before = succeeded.sum();
        TimeUnit.MILLISECONDS.sleep(duration.toMillis());
        long after = succeeded.sum();
        long nanos = System.nanoTime() - begin;
        stopping = true;
        requireSuccess();
        return (after - before) * 1e9 / nanos;
    }

    /** Sends some requests, each connection the next one after an answer; returns when all are answered. */
    public static void sendAll(Target target, int connections, Iterator<HttpCall> calls) throws InterruptedException {
        try (LoadClient load = new LoadClient(target.port(), connections)) {
            CountDownLatch open = new CountDownLatch(connections);
            load.context.runOnContext(begin -> {
                for (int i = 0; i < connections; i++) {
                    load.sendNext(calls, open);
                }
            });
            open.await();
            load.requireSuccess();
        }
    }

    private void sendNext(Iterator<HttpCall> calls, CountDownLatch open) {
        if (calls.hasNext()) {
            send(calls.next()).onComplete(sent -> {
                count(sent);
                sendNext(calls, open);
            });
        } else {
            open.countDown();
        }
    }

    private void requireSuccess() {
        if (failed.sum() > 0) {
            throw new IllegalStateException(
                    failed.sum() + " requests failed, " + succeeded.sum() + " succeeded: " + failure);
        }
    }

    private void count(AsyncResult<Buffer> sent) {
        if (sent.succeeded()) {
            succeeded.increment();
        } else {
            failure = sent.cause().toString();
            failed.increment();
        }
    }

    /** Sends one append and finds the highest sequence id in its answer. */
    static long lastSequenceId(Target target, HttpCall call) {
        try (LoadClient load = new LoadClient(target.port(), 1)) {
            String answer = load.send(call)
                    .toCompletionStage()
                    .toCompletableFuture()
                    .orTimeout(CALL_LIMIT_MILLIS, TimeUnit.MILLISECONDS)
                    .join()
                    .toString();
            return SEQUENCE_ID
                    .matcher(answer)
                    .results()
                    .mapToLong(found -> Long.parseLong(found.group(1)))
                    .max()
                    .orElseThrow();
        }
    }

    private void sendOn(Supplier<HttpCall> calls) {
        send(calls.get()).onComplete(sent -> {
            if (!stopping) {
                count(sent);
                sendOn(calls);
            }
        });
    }

    /**
     * Sends requests at a fixed rate, whether or not those before are answered. A latency counts from when its request
     * was due: a target that stalls is charged for every request that had to wait.
     */
    static Latencies openLoop(
            Target target, int connections, int perSecond, Supplier<HttpCall> calls, Duration duration)
            throws InterruptedException {
        try (LoadClient load = new LoadClient(target.port(), connections)) {
            return load.openLoop(perSecond, calls, duration);
        }
    }

    private Latencies openLoop(int perSecond, Supplier<HttpCall> calls, Duration duration) throws InterruptedException {
        int count = Math.toIntExact(perSecond * duration.toMillis() / 1000);
        long[] latencies = new long[count];
        long begin = System.nanoTime();
        for (int i = 0; i < count; i++) {
            int index = i;
            long due = begin + i * 1_000_000_000L / perSecond;
            for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
            context.runOnContext(now -> send(calls.get()).onComplete(sent -> {
                latencies[index] = sent.succeeded() ? System.nanoTime() - due : 0;
                count(sent);
            }));
        }
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(END_LIMIT_SECONDS);
        while (succeeded.sum() + failed.sum() < count && System.nanoTime() < end) {
            TimeUnit.MILLISECONDS.sleep(20);
        }
        return new Latencies(latencies);
    }

    /** Sends a request; fails where the answer's status is not the expected one. */
    private Future<Buffer> send(HttpCall call) {
        RequestOptions options = new RequestOptions()
                .setMethod(call.method())
                .setHost("127.0.0.1")
                .setPort(port)
                .setURI(call.uri())
                .setTimeout(CALL_LIMIT_MILLIS)
                .putHeader("Authorization", "Bearer " + call.token());
        Buffer body = call.body();
        if (body != null) {
            options.putHeader("Content-Type", "application/json");
        }
        return client.request(options)
                .compose(request -> body == null ? request.send() : request.send(body))
                .compose(response -> checked(response, call));
    }

    private static Future<Buffer> checked(HttpClientResponse response, HttpCall call) {
        return response.body()
                .compose(body -> response.statusCode() == call.expectedStatus()
                        ? Future.succeededFuture(body)
                        : Future.failedFuture("status " + response.statusCode() + ": " + body));
    }

    @Override
    public void close() {
        stopping = true;
        vertx.close()
                .toCompletionStage()
                .toCompletableFuture()
                .orTimeout(30, TimeUnit.SECONDS)
                .join();
    }
}
