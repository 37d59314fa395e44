package dev.annals.core.feed;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.annals.core.record.RecordEncoder.EncodedRecord;
import dev.annals.kernel.memory.MemoryBudget;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Reads pages of one database for waiting clients, {@link #PARALLEL} at a time. Clients share the read of a page, so that a record that
 * wakes thousands of clients costs the database one page.
 *
 * <pre>
 * queued    every client may join. It is dropped if all its clients have gone
 * running   a client may join if the read began after everything that the client must see
 * ended     a client gets the page for {@link #CACHED}, under the same condition
 * </pre>
 *
 * <p>The queue has at most one read per client. Safe for any thread.
 */
final class SharedReads {

    /** Half of the connections for reads, by default. */
    private static final int PARALLEL = 8;
    /** Clients that one record wakes ask within milliseconds, unless the service is busy. */
    private static final Duration CACHED = Duration.ofSeconds(10);
    /** Four of the largest pages, by default. */
    private static final long CACHED_BYTES = 8_388_608;

    private final FeedReader reader;
    private final MemoryBudget memory;
    private final Context context;
    private final Timer timer;
    private final Map<Key, Read> latest = new HashMap<>();

    private final Queue<Read> queue = new ArrayDeque<>();
    private final Cache<Key, Page> ended;
    private int running;

    /** @param ended from {@link #newCache}, shared by the databases */
    SharedReads(FeedReader reader, Cache<Key, Page> ended, MemoryBudget memory, Vertx vertx, MeterRegistry metrics) {
        this.reader = reader;
        this.ended = ended;
        this.memory = memory;
        this.context = vertx.getOrCreateContext();
        this.timer = metrics.timer("annals.live.pages");
    }

    static Cache<Key, Page> newCache() {
        return Caffeine.newBuilder()
                .maximumWeight(CACHED_BYTES)
                .<Key, Page>weigher((key, page) -> page.size())
                .expireAfterWrite(CACHED)
                .build();
    }

    record Key(UUID projectId, FeedQuery query) {}

    /** Exactly one of {@code read} and {@code failed} is called, once, on any thread. */
    record Client(BooleanSupplier isGone, Consumer<Page> read, Consumer<Throwable> failed) {}

    private static final class Read {
        final Key key;
        final List<Client> clients = new ArrayList<>();
        boolean began;
        long beganAt;

        Read(Key key) {
            this.key = key;
        }

        boolean shows(long asOf) {
            return !began || beganAt - asOf >= 0;
        }
    }

    /** Its events are made once for all streams. */
    static final class Page {

        private final UUID projectId;
        private final FeedPage page;
        private final long readAt;
        private @Nullable Buffer events;

        private Page(UUID projectId, FeedPage page, long readAt) {
            this.projectId = projectId;
            this.page = page;
            this.readAt = readAt;
        }

        FeedPage page() {
            return page;
        }

        /** When the read began, as {@link System#nanoTime()}. */
        long readAt() {
            return readAt;
        }

        /** About how many bytes it takes with its events; 0 without records. */
        private int size() {
            return page.records().isEmpty() ? 0 : (int) Math.min(Integer.MAX_VALUE, 2 * page.answerAtMost());
        }

        /** One line each for {@code id}, {@code event} and {@code data}. */
        synchronized Buffer events() {
            if (events == null) {
                events = makeEvents();
            }
            return events;
        }

        private Buffer makeEvents() {
            Buffer bytes = Buffer.buffer();
            for (EncodedRecord record : page.records()) {
                Cursor behind = Cursor.behind(projectId, record);
                bytes.appendBytes(("id: " + behind + "\nevent: record\ndata: ").getBytes(StandardCharsets.US_ASCII));
                // One line: JSON strings contain no line breaks, and PostgreSQL writes jsonb without any.
                record.appendTo(bytes);
                bytes.appendString("\n\n");
            }
            return bytes;
        }
    }

    /** The page shows everything that was committed by {@code asOf}, a {@link System#nanoTime()}. */
    void read(UUID projectId, FeedQuery query, long asOf, Client client) {
        Key key = new Key(projectId, query);
        Page before = ended.getIfPresent(key);
        if (before != null && before.readAt - asOf >= 0) {
            client.read().accept(before);
        } else {
            join(key, asOf, client);
        }
    }

    private synchronized void join(Key key, long asOf, Client client) {
        Read read = latest.get(key);
        if (read == null || !read.shows(asOf)) {
            read = new Read(key);
            latest.put(key, read);
            if (running < PARALLEL) {
                running++;
                begin(read);
            } else {
                queue.add(read);
            }
        }
        read.clients.add(client);
    }

    private void begin(Read read) {
        read.began = true;
        read.beganAt = System.nanoTime();
        context.runOnContext(now ->
                readPage(read).subscribe().with(page -> succeeded(read, page), failure -> failed(read, failure)));
    }

    private Uni<Page> readPage(Read read) {
        UUID projectId = read.key.projectId();
        FeedQuery query = read.key.query();
        return memory.take(projectId, query.firstMemory())
                .chain(held ->
                        reader.read(projectId, query, held).onTermination().invoke(held::close))
                .map(page -> new Page(projectId, page, read.beganAt));
    }

    private void succeeded(Read read, Page page) {
        if (page.size() > 0) {
            ended.put(read.key, page);
        }
        end(read);
        read.clients.forEach(client -> client.read().accept(page));
    }

    private void failed(Read read, Throwable failure) {
        end(read);
        read.clients.forEach(client -> client.failed().accept(failure));
    }

    /** After this no client joins the read. */
    private synchronized void end(Read read) {
        timer.record(System.nanoTime() - read.beganAt, TimeUnit.NANOSECONDS);
        latest.remove(read.key, read);
        Read next = queue.poll();
        while (next != null
                && next.clients.stream().allMatch(client -> client.isGone().getAsBoolean())) {
            latest.remove(next.key, next);
            next = queue.poll();
        }
        if (next == null) {
            running--;
        } else {
            begin(next);
        }
    }
}
