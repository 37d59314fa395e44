package dev.annals.writer;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.annals.writer.Buffer.Batching;
import dev.annals.writer.Delivery.Retries;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Writes records to the audit log of a project. It loses no record that it has acknowledged.
 *
 * <pre>{@code
 * try (AuditLog log = AuditLog.to(URI.create("https://audit.example.org"), token).spool(SpoolOptions.in(folder)).open()) {
 *     log.append(AuditRecord.of("volume_create").actor("user", "u-19283", null).build());
 * }
 * }</pre>
 *
 * <p>{@link #append} returns at once. The client sends records in the order in which they were appended, many in one request, and repeats a
 * request until the service has stored it. Each record has its id before the first attempt, so it is stored once. Any thread may append.
 * Open one client per process and close it at the end.
 */
public final class AuditLog implements AutoCloseable {

    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(30);
    private static final int GROUP_RECORDS = 4_096;
    private static final int GROUP_BYTES = 1 << 20;

    private final Ids ids = new Ids();
    private final Counters counters = new Counters();
    private final Duration appendTimeout;
    private final Buffer buffer;
    private final Spool spool;
    private final Consumer<Refusal> refusals;
    private final Delivery delivery;
    private final CompletableFuture<Void> sending;
    private final CompletableFuture<Void> spooling;
    private final CountDownLatch spoolingStops = new CountDownLatch(1);
    /** Null before the first close. */
    private Boolean settled;

    private AuditLog(Builder options) throws IOException {
        appendTimeout = options.appendTimeout;
        Batching requests = new Batching(options.batchRecords, options.batchBytes);
        if (options.spool == null) {
            spool = null;
            buffer = new Buffer(options.bufferRecords, options.bufferBytes, requests);
            refusals = handler(options.refusals, AuditLog::logRefusal);
        } else {
            spool = new Spool(options.spool, requests);
            int group = (int) Math.min(GROUP_BYTES, options.spool.segmentBytes / 2);
            buffer = new Buffer(options.bufferRecords, options.bufferBytes, new Batching(GROUP_RECORDS, group));
            refusals = handler(options.refusals, new RefusedFile(options.spool.folder));
        }
        Endpoint endpoint = new Endpoint(options.service, options.token, options.client(), options.requestTimeout);
        Retries retries = new Retries(options.firstPause, options.longestPause, options.giveUpAfter);
        delivery = new Delivery(spool == null ? buffer : spool, endpoint, retries, refusals, counters);
        sending = start(delivery, "annals-sender");
        spooling = spool == null ? CompletableFuture.completedFuture(null) : start(this::writeSpool, "annals-spooler");
    }

    private static CompletableFuture<Void> start(Runnable task, String name) {
        CompletableFuture<Void> end = new CompletableFuture<>();
        Thread thread = new Thread(
                () -> {
                    try {
                        task.run();
                    } finally {
                        end.complete(null);
                    }
                },
                name);
        // An application that forgets to close the client still ends. The spool keeps what is not sent.
        thread.setDaemon(true);
        thread.start();
        return end;
    }

    /**
     * Begins a client of this service.
     *
     * @param service its address, such as {@code https://audit.example.org}
     * @param token one with the scope {@code write}, which also says which project is meant
     */
    public static Builder to(URI service, String token) {
        return new Builder(service, () -> token);
    }

    /** The token is read again before each request. */
    public static Builder to(URI service, Supplier<String> token) {
        return new Builder(service, token);
    }

    /**
     * Waits up to {@link Builder#appendTimeout} while the buffer is full.
     *
     * @throws BufferFullException if the buffer stays full
     * @throws IllegalStateException if this is closed
     */
    public Receipt append(AuditRecord record) {
        Instant now = Instant.now();
        UUID id = record.id() == null ? ids.next(now) : record.id();
        Entry entry = new Entry(id, record.json(id, now).getBytes(UTF_8));
        try {
            buffer.add(entry, appendTimeout);
        } catch (BufferFullException e) {
            counters.turnedAway.incrementAndGet();
            throw e;
        }
        counters.appended.incrementAndGet();
        return new Receipt(id, entry.acknowledgement);
    }

    /** Waits until all records appended before this call are stored or refused. Returns false if the timeout ends first. */
    public boolean flush(Duration timeout) throws InterruptedException {
        long end = System.nanoTime() + timeout.toNanos();
        return buffer.awaitSettled(timeout)
                && (spool == null || spool.awaitSettled(Duration.ofNanos(Math.max(1, end - System.nanoTime()))));
    }

    public Metrics metrics() {
        return counters.metrics(buffer.records(), buffer.bytes(), spool == null ? 0 : spool.bytes());
    }

    /** Waits up to 30 seconds, as {@link #close(Duration)}. */
    @Override
    public void close() {
        close(CLOSE_TIMEOUT);
    }

    /**
     * Takes no more records and waits until the records taken are stored. Records that are not stored after the timeout stay in the spool
     * for the next client; without a spool, the handler of refusals gets them. Further calls return the result of the first one.
     *
     * @return whether all is stored or refused
     */
    public synchronized boolean close(Duration timeout) {
        if (settled != null) {
            return settled;
        }
        settled = false;
        buffer.close();
        try {
            settled = flush(timeout);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (spool == null) {
            buffer.stop();
        }
        delivery.stop();
        spoolingStops.countDown();
        if (spool != null) {
            spool.stop();
        }
        // Both threads end within moments, so an interrupt of the caller can wait.
        spooling.join();
        buffer.stop();
        sending.join();
        handBack();
        return settled;
    }

    private void handBack() {
        for (Entry entry : buffer.left()) {
            Refusal refusal = entry.refusal(
                    "The client was closed before the record was " + (spool == null ? "stored" : "written to the spool")
                            + ". " + metrics().lastFailure());
            counters.refused();
            try {
                refusals.accept(refusal);
            } catch (RuntimeException e) {
                // No handler is left to try. The receipt and the log report the loss.
                Problems.log("Record " + entry.id + " is lost, as it could not be handed back: " + e);
            }
            entry.acknowledgement.completeExceptionally(new RecordRefusedException(refusal));
        }
        if (spool != null) {
            try {
                spool.close();
            } catch (IOException e) {
                Problems.log("The spool was not closed: " + e);
            }
        }
    }

    private void writeSpool() {
        for (List<Entry> group = buffer.next(); group != null; group = buffer.next()) {
            while (true) {
                try {
                    if (!spool.write(group)) {
                        return;
                    }
                    counters.written();
                    break;
                } catch (IOException | RuntimeException e) {
                    counters.writingFailed("The spool cannot be written: " + e);
                    if (spoolingStops(Duration.ofSeconds(1))) {
                        return;
                    }
                }
            }
            group.forEach(entry -> entry.acknowledgement.complete(entry.id));
            buffer.settled();
        }
    }

    private boolean spoolingStops(Duration within) {
        try {
            return spoolingStops.await(within.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            return true;
        }
    }

    /** If the application's handler throws, the default handler keeps the record. */
    private static Consumer<Refusal> handler(Consumer<Refusal> own, Consumer<Refusal> otherwise) {
        if (own == null) {
            return otherwise;
        }
        return refusal -> {
            try {
                own.accept(refusal);
            } catch (RuntimeException e) {
                Problems.log("The handler of refusals has failed: " + e);
                otherwise.accept(refusal);
            }
        };
    }

    private static void logRefusal(Refusal refusal) {
        Problems.log("Record " + refusal.id() + " is not stored. " + refusal.reason());
    }

    public static final class Builder {
        private final URI service;
        private final Supplier<String> token;
        private int bufferRecords = 10_000;
        private long bufferBytes = 32L << 20;
        private Duration appendTimeout = Duration.ofSeconds(30);
        private int batchRecords = 1_000;
        private int batchBytes = 900_000;
        private Duration requestTimeout = Duration.ofSeconds(60);
        private Duration firstPause = Duration.ofMillis(100);
        private Duration longestPause = Duration.ofSeconds(30);
        private Duration giveUpAfter;
        private SpoolOptions spool;
        private Consumer<Refusal> refusals;
        private HttpClient client;

        private Builder(URI service, Supplier<String> token) {
            if (!("http".equals(service.getScheme()) || "https".equals(service.getScheme()))
                    || service.getHost() == null
                    || service.getUserInfo() != null
                    || service.getQuery() != null
                    || service.getFragment() != null) {
                throw new IllegalArgumentException(
                        "The address of the service is http:// or https://, a host, and maybe a port and a path");
            }
            this.service = service;
            this.token = Objects.requireNonNull(token, "token");
        }

        /** The most that may wait in memory; 10,000 records and 32 MiB by default. */
        public Builder buffer(int records, long bytes) {
            requireAtLeast(1, records, "records in the buffer");
            requireAtLeast(1 << 19, bytes, "bytes in the buffer");
            this.bufferRecords = records;
            this.bufferBytes = bytes;
            return this;
        }

        /** The time that an append waits while the buffer is full; 30 s by default, 0 to fail at once. */
        public Builder appendTimeout(Duration timeout) {
            this.appendTimeout = timeout;
            return this;
        }

        /**
         * The most of one request: 1,000 records and 900,000 bytes by default, since many proxies take 1 MiB. The service takes 1,000 and
         * 16 MiB.
         */
        public Builder batch(int records, int bytes) {
            requireAtLeast(1, records, "records in a batch");
            requireAtLeast(1, bytes, "bytes in a batch");
            this.batchRecords = Math.min(records, 1_000);
            this.batchBytes = Math.min(bytes, 16_000_000);
            return this;
        }

        /** 60 s by default. */
        public Builder requestTimeout(Duration timeout) {
            requireAtLeast(1, timeout.toMillis(), "milliseconds for a request");
            this.requestTimeout = timeout;
            return this;
        }

        /**
         * The first and the longest wait before a request is repeated; 100 ms and 30 s by default. The wait doubles with each failure. The
         * service may ask for a longer one, up to the longest.
         */
        public Builder pauses(Duration first, Duration longest) {
            requireAtLeast(1, first.toMillis(), "milliseconds between attempts");
            requireAtLeast(first.toMillis(), longest.toMillis(), "milliseconds between attempts");
            this.firstPause = first;
            this.longestPause = longest;
            return this;
        }

        /** The time of failures after which the records of a request are refused. Without it, the client tries for ever. */
        public Builder giveUpAfter(Duration limit) {
            this.giveUpAfter = limit;
            return this;
        }

        /** Keeps records on disk until the service has stored them. */
        public Builder spool(SpoolOptions options) {
            this.spool = options;
            return this;
        }

        /**
         * Receives the records that will not be stored: those that the service refuses for good, and those that the client gave up. It runs
         * in the client's own thread. After a crash it may receive a record again. The default handler writes them to the file {@code
         * refused.ndjson} of the spool; without a spool it logs their ids, and their receipts fail.
         */
        public Builder onRefusal(Consumer<Refusal> handler) {
            this.refusals = handler;
            return this;
        }

        /** The HTTP client to send with, such as one with certificates or a proxy. It must not follow redirects. */
        public Builder httpClient(HttpClient client) {
            if (client.followRedirects() != HttpClient.Redirect.NEVER) {
                throw new IllegalArgumentException("A client that follows redirects would take the token elsewhere");
            }
            this.client = client;
            return this;
        }

        private HttpClient client() {
            return client != null
                    ? client
                    : HttpClient.newBuilder()
                            .connectTimeout(shorter(Duration.ofSeconds(10), requestTimeout))
                            .build();
        }

        private static Duration shorter(Duration one, Duration other) {
            return one.compareTo(other) < 0 ? one : other;
        }

        private static void requireAtLeast(long least, long value, String what) {
            if (value < least) {
                throw new IllegalArgumentException("At least " + least + " " + what + ", not " + value);
            }
        }

        /**
         * Starts the client. Records left in the spool are sent first.
         *
         * @throws UncheckedIOException if the spool cannot be used, for example because another process uses it
         */
        public AuditLog open() {
            try {
                return new AuditLog(this);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
