package dev.annals.core.feed;

import dev.annals.core.feed.HeadWatch.Kind;
import dev.annals.core.feed.HeadWatch.Waiter;
import dev.annals.core.feed.ReadCoalescer.Caller;
import dev.annals.core.query.Filter;
import io.vertx.core.Context;
import java.util.UUID;
import java.util.function.Supplier;

/**
 * A client that follows a feed: reads what is there, then waits until there is more, and reads on.
 *
 * <p>It may be told of pages and heads on any thread; everything else happens on the event loop of the client's request.
 */
abstract sealed class Follower permits LongPoll, FeedStream {

    final UUID projectId;

    /** What is read next: its cursor moves on, and its filter with the clock. */
    private FeedQuery query;

    private final Supplier<Filter> filter;
    private final HeadWatch watch;
    private final Waiter waiter;
    private final ReadCoalescer<SharedPage.Key, SharedPage> reads;
    private final Caller<SharedPage> caller;
    private final Context context;
    private boolean reading;
    /** Written only on the event loop of the client's request, but read elsewhere, too. */
    private volatile boolean done;

    Follower(
            Kind kind,
            UUID projectId,
            FeedQuery query,
            Supplier<Filter> filter,
            HeadWatch watch,
            ReadCoalescer<SharedPage.Key, SharedPage> reads,
            Context context) {
        this.projectId = projectId;
        this.query = query;
        this.filter = filter;
        this.watch = watch;
        this.reads = reads;
        this.context = context;
        this.waiter = new Waiter(kind, projectId, this::wake, this::stop);
        this.caller = new Caller<>(this::isDone, this::got, this::gotNone);
    }

    /** A page was read: answers with it, or continues with {@link #read} or {@link #await}. */
    abstract void take(SharedPage page);

    /** A page could not be read. */
    abstract void failed(Throwable failure);

    /** The service is stopping: ends the request. */
    abstract void stopping();

    /** Begins. Throws what {@link HeadWatch#join} throws. */
    final void follow() {
        watch.join(waiter);
        if (done) {
            // The client has gone before it was admitted.
            watch.leave(waiter);
            return;
        }
        read(System.nanoTime());
    }

    /** Reads a page that shows everything committed by {@code asOf}; another follower's read that does so will do. */
    final void read(long asOf) {
        if (reading || done) {
            return;
        }
        reading = true;
        query = query.with(filter.get());
        reads.read(new SharedPage.Key(projectId, query), asOf, caller);
    }

    private void got(SharedPage page) {
        context.runOnContext(now -> {
            reading = false;
            if (!done) {
                take(page);
            }
        });
    }

    private void gotNone(Throwable failure) {
        context.runOnContext(now -> {
            reading = false;
            if (!done) {
                failed(failure);
            }
        });
    }

    /** Waits until the feed grows, then reads. */
    final void await(long readAt) {
        Cursor cursor = query.cursor();
        if (!done && !watch.await(waiter, cursor == null ? 0 : cursor.sequenceId(), readAt)) {
            read(System.nanoTime());
        }
    }

    private void wake(long asOf) {
        context.runOnContext(now -> read(asOf));
    }

    private void stop() {
        context.runOnContext(now -> {
            if (!done) {
                stopping();
            }
        });
    }

    /** Stops reading and being woken. */
    void end() {
        done = true;
        watch.leave(waiter);
    }

    final void moveTo(Cursor cursor) {
        query = query.from(cursor);
    }

    final FeedQuery query() {
        return query;
    }

    final boolean isReading() {
        return reading;
    }

    final boolean isDone() {
        return done;
    }
}
