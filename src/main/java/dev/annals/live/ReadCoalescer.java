package dev.annals.live;

import dev.annals.feed.FeedPage;
import dev.annals.feed.FeedQuery;
import dev.annals.feed.FeedReader;
import dev.annals.memory.MemoryBudget;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import jakarta.enterprise.context.ApplicationScoped;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/**
 * Reads pages for many clients that wait: those who ask the same at the same time share one read, and only so many reads
 * are under way at a time, however many clients were woken. As many reads may queue as there are followers.
 *
 * <p>A client joins a read only if that began, or is to begin, after what the client must see. Safe for any thread.
 */
@ApplicationScoped
class ReadCoalescer {

    private final FeedReader reader;
    private final LiveConfig config;
    private final MemoryBudget memory;
    private final Context context;
    private final Timer pages;
    /** The latest read of each kind that is not over. */
    private final Map<Key, Read> latest = new HashMap<>();

    private final Queue<Read> queue = new ArrayDeque<>();
    private int underWay;

    ReadCoalescer(FeedReader reader, LiveConfig config, MemoryBudget memory, Vertx vertx, MeterRegistry metrics) {
        this.reader = reader;
        this.config = config;
        this.memory = memory;
        this.pages = metrics.timer("annals.live.pages");
        this.context = vertx.getOrCreateContext();
    }

    private record Key(UUID projectId, FeedQuery query) {}

    private static final class Read {
        final Key key;
        final List<Follower> followers = new ArrayList<>();
        boolean began;
        long beganAt;

        Read(Key key) {
            this.key = key;
        }

        boolean sees(long asOf) {
            return !began || beganAt - asOf >= 0;
        }
    }

    /**
     * Reads a follower's page, which it gets by {@link Follower#got}, or what {@link FeedReader#read} fails with by {@link
     * Follower#gotNone}.
     *
     * @param asOf a {@link System#nanoTime()}: the page shows all that was committed then
     */
    synchronized void read(Follower follower, long asOf) {
        Key key = new Key(follower.projectId, follower.query());
        Read read = latest.get(key);
        if (read == null || !read.sees(asOf)) {
            read = new Read(key);
            latest.put(key, read);
            if (underWay < config.pageReads()) {
                underWay++;
                begin(read);
            } else {
                queue.add(read);
            }
        }
        read.followers.add(follower);
    }

    private void begin(Read read) {
        read.began = true;
        read.beganAt = System.nanoTime();
        UUID projectId = read.key.projectId();
        FeedQuery query = read.key.query();
        context.runOnContext(now -> memory.take(projectId, query.memory())
                .chain(held -> reader.read(projectId, query).onTermination().invoke(held::close))
                .subscribe()
                .with(page -> got(read, page), failure -> gotNone(read, failure)));
    }

    private void got(Read read, FeedPage page) {
        end(read);
        SharedPage shared = new SharedPage(read.key.projectId(), page, read.beganAt);
        read.followers.forEach(follower -> follower.got(shared));
    }

    private void gotNone(Read read, Throwable failure) {
        end(read);
        read.followers.forEach(follower -> follower.gotNone(failure));
    }

    /** From here on nobody joins the read. */
    private synchronized void end(Read read) {
        pages.record(System.nanoTime() - read.beganAt, TimeUnit.NANOSECONDS);
        latest.remove(read.key, read);
        Read next = queue.poll();
        // Clients that came and went at once must not leave work behind.
        while (next != null && next.followers.stream().allMatch(Follower::isDone)) {
            latest.remove(next.key, next);
            next = queue.poll();
        }
        if (next == null) {
            underWay--;
        } else {
            begin(next);
        }
    }
}
