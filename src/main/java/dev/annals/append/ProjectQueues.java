package dev.annals.append;

import io.micrometer.core.instrument.MeterRegistry;
import io.smallrye.mutiny.Uni;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Turns many concurrent requests into few flushes.
 *
 * <p>In one project each commit waits for the one before it. So while one flush of a lane is under way, what arrives for
 * it gathers here, and the next flush takes it all: no timer, and no wait where there is no load. Every request gets
 * exactly one outcome.
 *
 * <p>Queues are bounded; a request that finds its queue full is turned away at once. A lane without waiting requests has
 * no queue.
 */
final class ProjectQueues {

    /** Writes requests. */
    @FunctionalInterface
    interface Flush {
        /**
         * Writes requests, whose lanes have no other flush under way, in their order.
         *
         * @return completes when the next flush of these lanes may begin, with what still has to be done to give the
         *     requests their outcomes. All that failed have theirs by then. Where it fails itself, so do all requests that
         *     have none
         */
        Uni<Runnable> write(List<AppendRequest> requests);
    }

    private final Map<Lane, Queue> queues = new ConcurrentHashMap<>();
    private final AtomicLong totalBytes = new AtomicLong();
    private final Flush flush;
    private final AppendConfig config;
    private volatile boolean stopping;

    ProjectQueues(Flush flush, AppendConfig config, MeterRegistry metrics) {
        this.flush = flush;
        this.config = config;
        metrics.gauge("annals.append.queue.bytes", totalBytes);
        metrics.gaugeMapSize("annals.append.queue.projects", List.of(), queues);
    }

    /** The requests of one lane that wait while a flush of it is under way. */
    private static final class Queue {
        final ArrayDeque<AppendRequest> waiting = new ArrayDeque<>();
        long bytes;
    }

    /**
     * Takes a request in.
     *
     * @return its outcome, which never fails. What is turned away breaks its chain, too
     */
    CompletableFuture<AppendOutcome> append(AppendRequest request) {
        if (stopping) {
            request.fail(new AppendOutcome.Unavailable(
                    "The service is stopping. Send the request again to another instance."));
            return request.outcome;
        }
        boolean[] first = {false};
        @Nullable String[] full = {null};
        queues.compute(request.lane, (lane, queue) -> {
            if (queue == null) {
                first[0] = true;
                return new Queue();
            }
            full[0] = enqueue(queue, request);
            return queue;
        });
        if (full[0] != null) {
            request.fail(new AppendOutcome.QueueFull(full[0]));
        } else if (first[0]) {
            write(request.lane, List.of(request));
        }
        return request.outcome;
    }

    /** Lets a request wait in a queue; answers why it cannot. */
    private @Nullable String enqueue(Queue queue, AppendRequest request) {
        if (queue.waiting.size() >= config.queueRequests() || queue.bytes + request.bytes > config.queueBytes()) {
            return "Too many records of this project are waiting to be written.";
        }
        if (totalBytes.addAndGet(request.bytes) > config.totalQueueBytes()) {
            totalBytes.addAndGet(-request.bytes);
            return "Too many records are waiting to be written.";
        }
        queue.waiting.add(request);
        queue.bytes += request.bytes;
        return null;
    }

    /** Takes what has gathered, as much as one flush may have; drops the queue where nothing has. */
    private List<AppendRequest> take(Lane lane) {
        List<AppendRequest> taken = new ArrayList<>();
        queues.computeIfPresent(lane, (same, queue) -> {
            int records = 0;
            long bytes = 0;
            for (AppendRequest next = queue.waiting.peek(); next != null; next = queue.waiting.peek()) {
                records += next.records.size();
                bytes += next.bytes;
                if (!taken.isEmpty() && (records > config.batchRecords() || bytes > config.batchBytes())) {
                    break;
                }
                taken.add(queue.waiting.remove());
                queue.bytes -= next.bytes;
                totalBytes.addAndGet(-next.bytes);
            }
            return taken.isEmpty() ? null : queue;
        });
        return taken;
    }

    /** Writes the requests, then whatever has gathered meanwhile, until nothing has. */
    private void write(Lane lane, List<AppendRequest> requests) {
        Uni.createFrom()
                .deferred(() -> flush.write(requests))
                .onFailure()
                .recoverWithItem(failure -> {
                    // At once: what hangs on these requests must not be in the next flush.
                    AppendRequest.fail(requests, new AppendOutcome.Failed(failure));
                    return () -> {};
                })
                .subscribe()
                .with(outcomes -> {
                    // The next flush is under way before those get their outcomes whose records are stored: making the
                    // answers takes about as long.
                    try {
                        List<AppendRequest> gathered = take(lane);
                        if (!gathered.isEmpty()) {
                            write(lane, gathered);
                        }
                    } finally {
                        outcomes.run();
                    }
                });
    }

    /** Turns new requests away. Those that wait are still written. */
    void stop() {
        stopping = true;
    }
}
