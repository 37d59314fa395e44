package dev.annals.core.feed;

import com.github.benmanes.caffeine.cache.Cache;
import dev.annals.access.places.Places;
import dev.annals.core.feed.HeadWatch.Kind;
import dev.annals.core.feed.HeadWatch.Waiter;
import dev.annals.core.query.Filter;
import dev.annals.kernel.database.Databases;
import dev.annals.kernel.database.PerDatabase;
import dev.annals.kernel.memory.MemoryBudget;
import io.micrometer.core.instrument.MeterRegistry;
import io.smallrye.mutiny.Uni;
import io.smallrye.mutiny.subscription.UniEmitter;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerRequest;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.ws.rs.core.Response;
import java.time.Duration;
import java.util.UUID;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Answers long polls and streams. {@link HeadWatch} limits how many may wait, and wakes them; {@link SharedReads} reads their
 * pages. A client that waits holds no connection to the database. Each request has a {@link LiveReader} in one of these
 * states:
 *
 * <pre>
 * reading   a page is read for it. With records: a long poll ends, a stream writes them and reads on.
 *    |      Without: waiting
 * waiting   it stands at the head of the feed. HeadWatch wakes it when the head moves: reading
 * full      a stream whose client does not take what was written. When the client does: reading or waiting;
 *           after {@link FeedConfig#idle}: ended
 * ended     the answer is given, the time is up, the client has gone, or the service stops
 * </pre>
 */
@ApplicationScoped
class LiveFeed {

    private final FeedReader reader;
    private final HeadWatch watch;
    private final Places places;
    private final PerDatabase<SharedReads> reads;
    private final LiveConfig config;
    private final FeedConfig pages;
    private final MemoryBudget memory;
    private final Vertx vertx;

    LiveFeed(
            FeedReader reader,
            HeadWatch watch,
            Places places,
            Databases databases,
            LiveConfig config,
            FeedConfig pages,
            MemoryBudget memory,
            Vertx vertx,
            MeterRegistry metrics) {
        this.reader = reader;
        this.watch = watch;
        this.places = places;
        this.config = config;
        this.pages = pages;
        this.memory = memory;
        this.vertx = vertx;
        Cache<SharedReads.Key, SharedReads.Page> ended = SharedReads.newCache();
        this.reads = new PerDatabase<>(databases, database -> new SharedReads(reader, ended, memory, vertx, metrics));
    }

    /**
     * The page is empty if the time is up or the service stops. Subscribe on the request's event loop.
     *
     * @param filter read before each page, in place of the query's own
     * @return fails like {@link FeedReader#read}, and with {@code too-many-readers}
     */
    Uni<FeedPage> poll(UUID projectId, FeedQuery query, Supplier<Filter> filter, Duration wait) {
        if (watch.isStopping()) {
            return reader.read(projectId, query);
        }
        return Uni.createFrom()
                .emitter(answer -> new LongPoll(new Request(projectId, query, filter), this, wait, answer).begin());
    }

    /**
     * Subscribe on the request's event loop. The filter is read as in {@link #poll}.
     *
     * @return completes when the stream has ended; its value is not used. Until the first event, it fails like {@link #poll}
     */
    Uni<Response> stream(UUID projectId, FeedQuery query, Supplier<Filter> filter, HttpServerRequest request) {
        FeedQuery small = query.atMost(pages.pageBytes() / FeedStream.PARTS_OF_A_PAGE);
        return Uni.createFrom()
                .emitter(answer -> new FeedStream(
                                new Request(projectId, small, filter),
                                this,
                                request,
                                config,
                                pages.idle(),
                                memory,
                                answer)
                        .begin());
    }

    record Request(UUID projectId, FeedQuery query, Supplier<Filter> filter) {}

    /** Follows a feed for one client. Callbacks come on any thread; all work is on the event loop of the client's request. */
    abstract static sealed class LiveReader permits LongPoll, FeedStream {

        final UUID projectId;
        final Context context;
        /** Its cursor moves on with each page, and its filter with the clock. */
        private FeedQuery query;

        private final Supplier<Filter> filter;
        private final HeadWatch watch;
        private final Waiter waiter;
        private final Supplier<SharedReads> reads;
        private final SharedReads.Client client;
        private boolean reading;
        /** Written on the event loop alone, but read by {@link SharedReads}. */
        private volatile boolean ended;

        LiveReader(Kind kind, Request request, LiveFeed feed) {
            this.projectId = request.projectId();
            this.query = request.query();
            this.filter = request.filter();
            this.watch = feed.watch;
            this.reads = () -> feed.reads.of(feed.places.of(projectId));
            this.context = feed.vertx.getOrCreateContext();
            this.waiter = new Waiter(kind, projectId, this::wake, this::stop);
            this.client = new SharedReads.Client(this::isEnded, this::succeeded, this::failed);
        }

        /** Ends, or continues with {@link #read} or {@link #await}. */
        abstract void handle(SharedReads.Page page);

        abstract void handleFailure(Throwable failure);

        abstract void handleStop();

        /** Throws what {@link HeadWatch#join} throws. */
        final void begin() {
            watch.join(waiter);
            if (ended) {
                // The client went while the request was admitted.
                watch.leave(waiter);
                return;
            }
            read(System.nanoTime());
        }

        /** Unless a read runs, reads a page that shows everything committed by {@code asOf}. */
        final void read(long asOf) {
            if (reading || ended) {
                return;
            }
            reading = true;
            query = query.with(filter.get());
            reads.get().read(projectId, query, asOf, client);
        }

        private void succeeded(SharedReads.Page page) {
            context.runOnContext(now -> {
                reading = false;
                if (!ended) {
                    handle(page);
                }
            });
        }

        private void failed(Throwable failure) {
            context.runOnContext(now -> {
                reading = false;
                if (!ended) {
                    handleFailure(failure);
                }
            });
        }

        final void await(long readAt) {
            Cursor cursor = query.cursor();
            if (!ended && !watch.await(waiter, cursor == null ? 0 : cursor.sequenceId(), readAt)) {
                read(System.nanoTime());
            }
        }

        private void wake(long asOf) {
            context.runOnContext(now -> read(asOf));
        }

        private void stop() {
            context.runOnContext(now -> {
                if (!ended) {
                    handleStop();
                }
            });
        }

        void end() {
            ended = true;
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

        final boolean isEnded() {
            return ended;
        }
    }

    private static final class LongPoll extends LiveReader {

        private final UniEmitter<? super FeedPage> answer;
        private final long timer;
        private @Nullable FeedPage last;
        private boolean timeIsUp;

        LongPoll(Request request, LiveFeed feed, Duration wait, UniEmitter<? super FeedPage> answer) {
            super(Kind.LONG_POLL, request, feed);
            this.answer = answer;
            this.timer = context.owner().setTimer(wait.toMillis(), up -> handleStop());
            answer.onTermination(this::end);
        }

        @Override
        void handle(SharedReads.Page shared) {
            FeedPage page = shared.page();
            last = page;
            if (!page.records().isEmpty() || timeIsUp) {
                answer.complete(page);
                return;
            }
            moveTo(page.pollMore());
            if (page.next() != null) {
                read(shared.readAt());
            } else {
                await(shared.readAt());
            }
        }

        @Override
        void handleFailure(Throwable failure) {
            answer.fail(failure);
        }

        @Override
        void handleStop() {
            timeIsUp = true;
            // A read that runs brings the answer.
            if (!isReading() && last != null) {
                answer.complete(last);
            }
        }

        @Override
        void end() {
            context.owner().cancelTimer(timer);
            super.end();
        }
    }
}
