package dev.annals.bench.service;

import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.parsetools.RecordParser;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Clients that wait for the records of one feed, on one thread, and note when they get them. */
final class Listeners implements AutoCloseable {

    private static final String FEED = "/v1/project-logs?cursor=";
    private static final String STREAM = "/v1/project-logs/stream?cursor=";
    private static final Pattern SEQUENCE_ID = Pattern.compile("\"sequence_id\":(\\d+)");
    private static final int LIMIT_SECONDS = 10;

    /** In which way they wait. */
    enum Kind {
        LONG_POLL("long poll"),
        STREAM("stream");

        private final String text;

        Kind(String text) {
            this.text = text;
        }

        @Override
        public String toString() {
            return text;
        }
    }

    private final Vertx vertx = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(1));
    private final HttpClient client;
    private final Target target;
    private final Kind kind;
    private final int count;
    private final Map<Long, Arrivals> arrivals = new ConcurrentHashMap<>();
    private final CountDownLatch listening;
    private volatile boolean closed;

    Listeners(Target target, Kind kind, int count) {
        this.target = target;
        this.kind = kind;
        this.count = count;
        this.listening = new CountDownLatch(kind == Kind.STREAM ? count : 0);
        this.client = vertx.createHttpClient(
                new HttpClientOptions().setMaxPoolSize(count).setMaxWaitQueueSize(-1));
    }

    /** When each client got one record, as {@link System#nanoTime()}; 0 where it has not. */
    private static final class Arrivals {
        final AtomicLongArray times;
        final CountDownLatch missing;

        Arrivals(int count) {
            times = new AtomicLongArray(count);
            missing = new CountDownLatch(count);
        }
    }

    /** Lets all clients wait behind a record; returns when they do. */
    void listen(long head) throws InterruptedException {
        for (int i = 0; i < count; i++) {
            ask(i, head);
        }
        if (!listening.await(LIMIT_SECONDS, TimeUnit.SECONDS)) {
            throw new IllegalStateException(listening.getCount() + " streams were not opened");
        }
        // A long poll does not tell when it waits.
        TimeUnit.MILLISECONDS.sleep(500 + count);
    }

    private void ask(int place, long head) {
        RequestOptions options = new RequestOptions()
                .setMethod(HttpMethod.GET)
                .setHost("127.0.0.1")
                .setPort(target.port())
                .setURI(kind == Kind.LONG_POLL ? FEED + head + "&wait=30" : STREAM + head)
                .putHeader("Accept", kind == Kind.LONG_POLL ? "application/json" : "text/event-stream")
                .putHeader("Authorization", "Bearer " + target.tokens().get(0));
        client.request(options)
                .compose(request -> request.send())
                .onSuccess(response -> answered(place, head, response));
    }

    private void answered(int place, long head, HttpClientResponse response) {
        if (kind == Kind.STREAM) {
            listening.countDown();
            response.handler(RecordParser.newDelimited("\n\n", event -> arrived(place, head, event)));
        } else {
            response.body().onSuccess(page -> {
                long last = arrived(place, head, page);
                if (!closed) {
                    ask(place, last);
                }
            });
        }
    }

    /** @return the last sequence id in the text, or the one before it */
    private long arrived(int place, long head, Buffer text) {
        long now = System.nanoTime();
        long last = head;
        Matcher sequenceId = SEQUENCE_ID.matcher(text.toString());
        while (sequenceId.find()) {
            last = Long.parseLong(sequenceId.group(1));
            Arrivals record = arrivals(last);
            record.times.set(place, now);
            record.missing.countDown();
        }
        return last;
    }

    private Arrivals arrivals(long sequenceId) {
        return arrivals.computeIfAbsent(sequenceId, id -> new Arrivals(count));
    }

    /** Waits until all have a record, and tells how many nanoseconds after its commit; 0 is never. */
    long[] latencies(long sequenceId, long committed) throws InterruptedException {
        Arrivals record = arrivals(sequenceId);
        boolean complete = record.missing.await(LIMIT_SECONDS, TimeUnit.SECONDS);
        long[] latencies = new long[count];
        for (int i = 0; i < count; i++) {
            long time = record.times.get(i);
            latencies[i] = !complete && time == 0 ? 0 : Math.max(1, time - committed);
        }
        arrivals.remove(sequenceId);
        return latencies;
    }

    @Override
    public void close() {
        closed = true;
        vertx.close()
                .toCompletionStage()
                .toCompletableFuture()
                .orTimeout(30, TimeUnit.SECONDS)
                .join();
    }
}
