package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.Load;
import dev.annals.survival.Verdict.Entry;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Writers and readers of one feed who go on through a fault, as clients should: a record without an answer is sent again under its
 * id, and a page is asked for again. They keep what they were told.
 */
final class Clients implements AutoCloseable {

    private static final String FEED = "/v1/project-logs";
    private static final int PAGE = 1_000;
    private static final Duration ANSWER_LIMIT = Duration.ofMinutes(2);
    private static final Duration PAUSE_AFTER_FAILURE = Duration.ofMillis(100);
    private static final long END_LIMIT_SECONDS = 300;
    private static final int MOST_NOTED = 20;
    /** The pause of a writer after a record: without it, many writers would only fill the disk. */
    private Duration afterRecord = Duration.ofMillis(Load.times(30, 10));
    /** The pause of a reader at the end of the feed: without it, readers take the processor from the service. */
    private Duration afterFeed = Duration.ofMillis(Load.times(60, 20));

    private final Supplier<URI> service;
    private final Project project;
    private final HttpClient http = HttpClient.newHttpClient();
    private final ObjectMapper json = new ObjectMapper();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final Map<UUID, Long> told = new ConcurrentHashMap<>();
    private final List<Future<?>> writing = new ArrayList<>();
    private final List<Future<List<Entry>>> reading = new ArrayList<>();
    private final AtomicInteger refusedWrites = new AtomicInteger();
    private final AtomicInteger refusedReads = new AtomicInteger();
    private final AtomicInteger rewound = new AtomicInteger();
    private final Set<Integer> rewoundReaders = ConcurrentHashMap.newKeySet();
    private final AtomicInteger known = new AtomicInteger();
    private final AtomicLong lastTold = new AtomicLong(System.nanoTime());
    private final AtomicLong longestPause = new AtomicLong();
    private final Map<String, Integer> answers = new ConcurrentHashMap<>();
    private final AtomicInteger wentBackTo = new AtomicInteger();
    /** The number of records of each reader. */
    private final Map<Integer, Integer> haveRead = new ConcurrentHashMap<>();

    /** The answers of readers that report a feed set back. */
    private final List<String> tellings = Collections.synchronizedList(new ArrayList<>());

    private final Object recovery = new Object();
    /** The writers that were served since the measurement began. Guarded by {@link #recovery}, as the rest is. */
    private final Set<Integer> served = new HashSet<>();

    private int measurements;
    private long servedSince;
    /** Requests that began before this time do not count as served. */
    private long askedSince;

    private long lastServed;
    private long longestWait;

    /** Writers that {@link #also} has started. */
    private final List<Future<?>> others = new ArrayList<>();
    /** Failed answers that no fault explains. */
    private final List<String> unexplained = Collections.synchronizedList(new ArrayList<>());

    private List<Entry> feed = List.of();
    private volatile boolean faulty = true;
    private volatile boolean written;
    private volatile boolean over;
    /** The last place of the feed, once all writers have ended. */
    private volatile long head = Long.MAX_VALUE;

    /** @param service where it is now: it may be started again elsewhere */
    Clients(Supplier<URI> service, Project project) {
        this.service = service;
        this.project = project;
    }

    /** Lets them wait so long after each record, and at the end of the feed; said before they start. */
    void pace(Duration afterEachRecord, Duration atTheEnd) {
        afterRecord = afterEachRecord;
        afterFeed = atTheEnd;
    }

    /** Lets them begin; each reader at the beginning of the feed. */
    Clients start(int writers, int readers) {
        for (int i = 0; i < writers; i++) {
            int writer = i;
            writing.add(threads.submit(() -> write(writer)));
        }
        for (int i = 0; i < readers; i++) {
            String query = i % 2 == 0 ? "" : "&wait=1";
            int reader = i;
            haveRead.put(reader, 0);
            reading.add(threads.submit(() -> read(reader, query)));
        }
        return this;
    }

    /** Says whether faults explain failed answers from now on. At the beginning they do. */
    void explain(boolean byFaults) {
        faulty = byFaults;
    }

    boolean isExplained() {
        return faulty;
    }

    /** Failed answers to requests that were sent and answered while no fault explained them. */
    List<String> unexplained() {
        return List.copyOf(unexplained);
    }

    void notExplained(String failure) {
        if (unexplained.size() < MOST_NOTED) {
            unexplained.add(Instant.now() + " " + failure);
        }
    }

    /** Work of further clients, which ends when {@link #isWriting} is false. */
    void also(Callable<?> work) {
        others.add(threads.submit(work));
    }

    /** A further reader, which ends when {@link #isAll}. */
    void alsoReads(Callable<List<Entry>> reader) {
        reading.add(threads.submit(reader));
    }

    /** Whether writers are to go on. */
    boolean isWriting() {
        return !written && !over;
    }

    /** Whether the feed has no more than so many records and gets none. */
    boolean isAll(int records) {
        return over || records >= head;
    }

    /**
     * Notes that a further writer's record is stored.
     *
     * @param sequenceId {@link Verdict#UNKNOWN} if the answer does not say it
     */
    void told(UUID id, long sequenceId) {
        told.put(id, sequenceId);
    }

    private Void write(int writer) throws Exception {
        while (!written && !over) {
            UUID id = UUID.randomUUID();
            String body = "{\"action\": \"survive\", \"id\": \"" + id + "\"}";
            HttpRequest.BodyPublisher sent = HttpRequest.BodyPublishers.ofString(body);
            JsonNode answer = null;
            long begun = System.nanoTime();
            long asked = begun;
            while (answer == null && !over) {
                asked = System.nanoTime();
                answer = ask(
                        () -> request(URI.create(service.get() + FEED))
                                .header("Content-Type", "application/json")
                                .POST(sent)
                                .build(),
                        refusedWrites);
            }
            if (answer != null) {
                told.put(id, answer.get("sequence_id").longValue());
                long now = System.nanoTime();
                longestPause.accumulateAndGet(now - lastTold.getAndSet(now), Math::max);
                serve(writer, begun, asked, now);
            }
            waitAfterRecord();
        }
        return null;
    }

    /** Shorter where a measurement begins: all writers ask then, whatever they wait otherwise. */
    private void waitAfterRecord() throws InterruptedException {
        long end = System.nanoTime() + afterRecord.toNanos();
        synchronized (recovery) {
            int known = measurements;
            for (long left = afterRecord.toNanos(); left > 0 && measurements == known; left = end - System.nanoTime()) {
                TimeUnit.NANOSECONDS.timedWait(recovery, left);
            }
        }
    }

    private void serve(int writer, long begun, long asked, long answered) {
        synchronized (recovery) {
            longestWait = Math.max(longestWait, Math.min(answered - begun, answered - servedSince));
            if (asked - askedSince >= 0 && served.size() < writing.size() && served.add(writer)) {
                lastServed = answered;
                recovery.notifyAll();
            }
        }
    }

    /** From now on, or from a later call on, it is measured how long it takes until everyone is served again. */
    void measureRecovery() {
        synchronized (recovery) {
            served.clear();
            longestWait = 0;
            servedSince = System.nanoTime();
            askedSince = servedSince;
            measurements++;
            recovery.notifyAll();
        }
    }

    /**
     * Waits until each writer was answered what it asked after {@link #measureRecovery}, and again what it asks from now on. Gives how
     * long the first of it took; or how long one of them has waited for an answer meanwhile, where that is longer: some faults do
     * not take hold at once.
     */
    Duration awaitRecovery() throws InterruptedException {
        synchronized (recovery) {
            awaitAllServed();
            long first = lastServed - servedSince;
            served.clear();
            askedSince = System.nanoTime();
            awaitAllServed();
            return Duration.ofNanos(Math.max(first, longestWait));
        }
    }

    private void awaitAllServed() throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(END_LIMIT_SECONDS);
        synchronized (recovery) {
            while (served.size() < writing.size()) {
                assertThat(System.nanoTime() - end)
                        .as("writers %s of %d are served; %s", served, writing.size(), this)
                        .isNegative();
                TimeUnit.MILLISECONDS.timedWait(recovery, 1_000);
            }
        }
    }

    /** The cursor of a reader after this many records. */
    private record Kept(String cursor, int records) {}

    private List<Entry> read(int reader, String query) throws Exception {
        List<Entry> entries = new ArrayList<>();
        boolean askedAtEnd = false;
        Deque<Kept> kept = new ArrayDeque<>();
        boolean parted = false;
        @Nullable String cursor = null;
        // A reader with all records may not have learned yet that the feed was set back.
        while (!over && (entries.size() < head || !askedAtEnd)) {
            boolean asksAtEnd = head < Long.MAX_VALUE;
            String from = cursor == null ? "" : "&cursor=" + cursor;
            JsonNode page = ask(
                    () -> request(URI.create(service.get() + FEED + "?limit=" + PAGE + from + query))
                            .build(),
                    refusedReads);
            if (page == null) {
                continue;
            }
            if (page.has("status")) {
                // feed-rewound: the newest cursor that is still taken is where the feed and what was read part.
                if (!parted) {
                    rewound.incrementAndGet();
                    rewoundReaders.add(reader);
                }
                parted = true;
                kept.pollLast();
                Kept before = kept.peekLast();
                int stays = before == null ? 0 : before.records;
                tellings.add(Instant.now() + " reader " + reader + " at " + cursor + ", with " + entries.size()
                        + " records, goes back to " + stays);
                entries.subList(stays, entries.size()).clear();
                cursor = before == null ? null : before.cursor;
                wentBackTo.set(entries.size());
                continue;
            }
            page.get("results")
                    .forEach(record -> entries.add(new Entry(
                            record.get("sequence_id").longValue(),
                            UUID.fromString(record.get("id").textValue()))));
            parted = false;
            askedAtEnd = asksAtEnd;
            haveRead.put(reader, entries.size());
            String link =
                    page.get(page.get("next").isNull() ? "poll_more" : "next").textValue();
            cursor = link.replaceAll(".*[?&]cursor=([^&]*).*", "$1");
            if (kept.isEmpty() || kept.peekLast().records < entries.size()) {
                kept.addLast(new Kept(cursor, entries.size()));
            }
            if (page.get("next").isNull()) {
                TimeUnit.NANOSECONDS.sleep(afterFeed.toNanos());
            }
        }
        return entries;
    }

    interface Question {
        HttpRequest ask();
    }

    /** An answer of success; null if there was none, which is counted. */
    @Nullable
    JsonNode ask(Question question) throws InterruptedException {
        JsonNode answer = ask(question, refusedWrites);
        if (answer != null && answer.path("status").asInt() == 409) {
            notExplained(answer.toString());
            return null;
        }
        return answer;
    }

    /** An answer of success, or a {@code 409}; null if there was none, which is counted. */
    private @Nullable JsonNode ask(Question question, AtomicInteger refused) throws InterruptedException {
        boolean explained = faulty;
        String what;
        String said = "";
        try {
            HttpResponse<String> answer = http.send(question.ask(), HttpResponse.BodyHandlers.ofString());
            if (answer.statusCode() < 300 || answer.statusCode() == 409) {
                return json.readTree(answer.body());
            }
            what = Integer.toString(answer.statusCode());
            said = answer.request().uri() + " " + answer.body();
        } catch (IOException e) {
            what = e.getClass().getSimpleName();
            said = e.toString();
        }
        // No fault explains the last: each instance knows all databases.
        if ((!explained && !faulty) || what.equals("421")) {
            notExplained(what + " " + said);
        }
        answers.merge(what, 1, Integer::sum);
        refused.incrementAndGet();
        TimeUnit.NANOSECONDS.sleep(PAUSE_AFTER_FAILURE.toNanos());
        return null;
    }

    /** A request of the project's token to the service. */
    HttpRequest.Builder to(String path) {
        return request(URI.create(service.get() + path));
    }

    private HttpRequest.Builder request(URI uri) {
        return HttpRequest.newBuilder(uri).timeout(ANSWER_LIMIT).header("Authorization", "Bearer " + project.token());
    }

    /** The number of acknowledged records so far. */
    int told() {
        return told.size();
    }

    /** Waits until this many more were answered than when it was last asked, or at the start. */
    Clients awaitTold(int more) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(END_LIMIT_SECONDS);
        int enough = known.get() + more;
        while (told.size() < enough) {
            assertThat(System.nanoTime() - end)
                    .as("%d records are answered; %s", enough, this)
                    .isNegative();
            TimeUnit.MILLISECONDS.sleep(5);
        }
        known.set(told.size());
        return this;
    }

    /** Waits until each reader has what is there by now. */
    void awaitAllRead() throws Exception {
        long all = newest();
        Await.until(
                "each reader has read " + all, () -> haveRead.values().stream().allMatch(read -> read >= all));
    }

    /** The number of records that a reader kept when it last learned that its feed was set back. */
    int wentBackTo() {
        return wentBackTo.get();
    }

    /** Begins to measure the pause anew. */
    void measurePause() {
        known.set(told.size());
        lastTold.set(System.nanoTime());
        longestPause.set(0);
    }

    /** The longest time in which no writer was answered. */
    Duration longestPause() {
        return Duration.ofNanos(longestPause.get());
    }

    /** Writes that got no answer of success, and were sent again. */
    int refusedWrites() {
        return refusedWrites.get();
    }

    /** The failed answers, counted by status or exception. */
    Map<String, Integer> answers() {
        return answers;
    }

    int refusedReads() {
        return refusedReads.get();
    }

    /** The number of answers that the feed was set back. The reader then goes back to the newest cursor that is still valid. */
    int rewound() {
        return rewound.get();
    }

    int readers() {
        return reading.size();
    }

    /** From now on it counts who is told that the feed was set back. */
    void measureRewound() {
        rewoundReaders.clear();
    }

    /** Waits until each reader was told that its feed was set back, since {@link #measureRewound}. */
    void awaitAllRewound() throws Exception {
        Await.until("each reader was told", () -> rewoundReaders.size() == reading.size());
    }

    /** Ends the writers, lets each reader come to the end of the feed, reads the feed, and compares. */
    Verdict end() throws Exception {
        written = true;
        for (Future<?> writer : writing) {
            writer.get(END_LIMIT_SECONDS, TimeUnit.SECONDS);
        }
        for (Future<?> other : others) {
            other.get(END_LIMIT_SECONDS, TimeUnit.SECONDS);
        }
        ExecutorService last = Executors.newSingleThreadExecutor();
        try {
            head = newest();
            feed = last.submit(() -> read(reading.size(), "")).get(END_LIMIT_SECONDS, TimeUnit.SECONDS);
        } finally {
            last.shutdownNow();
        }
        List<List<Entry>> readers = new ArrayList<>();
        for (Future<List<Entry>> reader : reading) {
            readers.add(reader.get(END_LIMIT_SECONDS, TimeUnit.SECONDS));
        }
        Verdict verdict = Verdict.of(told, feed, readers);
        if (verdict.skipped() > 0) {
            Survived.parted(tellings, feed, readers);
        }
        return verdict;
    }

    /** The whole feed, after {@link #end}. */
    List<Entry> feed() {
        return feed;
    }

    private long newest() throws Exception {
        JsonNode page = null;
        while (page == null && !over) {
            page = ask(
                    () -> request(URI.create(service.get() + FEED + "?order=desc&limit=1"))
                            .build(),
                    refusedReads);
        }
        return page == null
                ? 0
                : page.get("results").path(0).path("sequence_id").longValue();
    }

    @Override
    public String toString() {
        return told.size() + " records told, " + refusedWrites + " writes and " + refusedReads + " reads refused ("
                + answers + "), " + rewound + " readers told of a feed set back, longest pause "
                + longestPause().toMillis() + " ms";
    }

    @Override
    public void close() {
        over = true;
        threads.shutdownNow();
    }
}
