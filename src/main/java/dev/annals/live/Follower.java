package dev.annals.live;

import dev.annals.feed.Cursor;
import dev.annals.feed.FeedQuery;
import io.vertx.core.Context;
import java.util.UUID;

/**
 * A client that follows a feed: reads what is there, then waits until there is more, and reads on.
 *
 * <p>But for what comes from {@link HeadWatch} and {@link ReadCoalescer}, everything happens on the event loop of the
 * client's request.
 */
abstract sealed class Follower permits LongPoll, FeedStream {

    /** In which way a client follows; each has limits of its own. */
    enum Kind {
        /** It waits for one page. */
        LONG_POLL,
        /** It takes records until it has enough. */
        STREAM
    }

    final UUID projectId;
    final Kind kind;

    /** Where it stands while it waits, and since when; both belong to {@link HeadWatch}. */
    long position;

    long waitingSince;

    /** What is read next: its cursor moves on. */
    private FeedQuery query;

    private final HeadWatch watch;
    private final ReadCoalescer reads;
    private final Context context;
    private boolean reading;
    /** Written on the event loop of the client's request alone, and read elsewhere, too. */
    private volatile boolean done;

    Follower(Kind kind, UUID projectId, FeedQuery query, HeadWatch watch, ReadCoalescer reads, Context context) {
        this.kind = kind;
        this.projectId = projectId;
        this.query = query;
        this.watch = watch;
        this.reads = reads;
        this.context = context;
    }

    /** A page was read: answers with it, or goes on by {@link #read} or {@link #await}. */
    abstract void take(SharedPage page);

    /** A page could not be read. */
    abstract void failed(Throwable failure);

    /** The service stops: ends the request. */
    abstract void stopping();

    /** Begins. Throws what {@link HeadWatch#join} throws. */
    final void follow() {
        watch.join(this);
        if (done) {
            // The client went before it was let in.
            watch.leave(this);
            return;
        }
        read(System.nanoTime());
    }

    /** Reads a page that shows what was committed at {@code asOf}; such a read of somebody else's will do. */
    final void read(long asOf) {
        if (reading || done) {
            return;
        }
        reading = true;
        reads.read(this, asOf);
    }

    final void got(SharedPage page) {
        context.runOnContext(now -> {
            reading = false;
            if (!done) {
                take(page);
            }
        });
    }

    final void gotNone(Throwable failure) {
        context.runOnContext(now -> {
            reading = false;
            if (!done) {
                failed(failure);
            }
        });
    }

    /** Waits until the feed goes on, then reads. */
    final void await(long readAt) {
        Cursor cursor = query.cursor();
        if (!done && !watch.await(this, cursor == null ? 0 : cursor.sequenceId(), readAt)) {
            read(System.nanoTime());
        }
    }

    final void wake(long asOf) {
        context.runOnContext(now -> read(asOf));
    }

    final void stop() {
        context.runOnContext(now -> {
            if (!done) {
                stopping();
            }
        });
    }

    /** Nothing more is read, and nobody wakes it. */
    void end() {
        done = true;
        watch.leave(this);
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
