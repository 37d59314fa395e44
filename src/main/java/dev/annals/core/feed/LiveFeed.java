package dev.annals.core.feed;

import dev.annals.core.query.Filter;
import dev.annals.kernel.memory.MemoryBudget;
import io.micrometer.core.instrument.MeterRegistry;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerRequest;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.ws.rs.core.Response;
import java.time.Duration;
import java.util.UUID;
import java.util.function.Supplier;

/** Reading that waits for records: long polls and streams. A client that waits holds no connection to the database. */
@ApplicationScoped
class LiveFeed {

    /** How many pages are read for waiting clients at a time: half of the connections for reads by default. */
    private static final int PAGE_READS = 8;
    /** Pages that were just read, for those who ask for the same page a moment later: four of the largest by default. */
    private static final long KEPT_BYTES = 8_388_608;

    private final FeedReader reader;
    private final HeadWatch watch;
    private final ReadCoalescer<SharedPage.Key, SharedPage> reads;
    private final LiveConfig config;
    private final FeedConfig pages;
    private final MemoryBudget memory;
    private final Vertx vertx;

    LiveFeed(
            FeedReader reader,
            HeadWatch watch,
            LiveConfig config,
            FeedConfig pages,
            MemoryBudget memory,
            Vertx vertx,
            MeterRegistry metrics) {
        this.reader = reader;
        this.watch = watch;
        this.config = config;
        this.pages = pages;
        this.memory = memory;
        this.vertx = vertx;
        this.reads = new ReadCoalescer<>(
                this::read,
                PAGE_READS,
                vertx.getOrCreateContext(),
                metrics.timer("annals.live.pages"),
                SharedPage::size,
                KEPT_BYTES);
    }

    private Uni<SharedPage> read(SharedPage.Key key, long beganAt) {
        return memory.take(key.projectId(), key.query().firstMemory())
                .chain(held -> reader.read(key.projectId(), key.query(), held)
                        .onTermination()
                        .invoke(held::close))
                .map(page -> new SharedPage(key.projectId(), page, beganAt));
    }

    /**
     * Reads a page, in ascending order, as soon as it has a record. Gives an empty page when the time is up or the service
     * stops. To be subscribed to on the request's event loop.
     *
     * @param filter asked before each read, in place of the query's own
     * @return fails like {@link FeedReader#read}, and with {@code too-many-readers}
     */
    Uni<FeedPage> poll(UUID projectId, FeedQuery query, Supplier<Filter> filter, Duration wait) {
        if (watch.isStopping()) {
            return reader.read(projectId, query);
        }
        return Uni.createFrom()
                .emitter(answer -> new LongPoll(
                                projectId, query, filter, wait, watch, reads, vertx.getOrCreateContext(), answer)
                        .follow());
    }

    /**
     * Answers a request with the stream of a feed's records, in ascending order. To be subscribed to on the request's
     * event loop.
     *
     * @param filter asked before each read, in place of the query's own
     * @return completes when the stream has ended; the response itself is not used. Fails like {@link #poll} as long as
     *     nothing has been written
     */
    Uni<Response> stream(UUID projectId, FeedQuery query, Supplier<Filter> filter, HttpServerRequest request) {
        return Uni.createFrom()
                .emitter(answer -> new FeedStream(
                                projectId,
                                query,
                                filter,
                                request,
                                watch,
                                reads,
                                config,
                                pages,
                                memory,
                                vertx.getOrCreateContext(),
                                answer)
                        .follow());
    }
}
